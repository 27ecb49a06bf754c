import { AgentError } from '@isoloop/core';
import { timerMs } from '@isoloop/core/adapter';
import { fromOutcome } from '../../wire/protocol.ts';
import type { PageAnswer, PageQuestion, PageVisibility } from '../../wire/protocol.ts';

export interface AskOptions {
  /**
   * Signal that aborts the question. The page then gets a message, and the question rejects with
   * the signal's reason.
   */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: unknown) => void;
  /** Maximum time until the page answers, in milliseconds. Default: no limit. */
  readonly timeoutMs?: number;
}

/** Question that the page has not answered yet. */
interface PendingQuestion {
  readonly onProgress: ((progress: unknown) => void) | undefined;
  resolve(value: unknown): void;
  reject(reason: unknown): void;
}

/**
 * Worker's end of the port of a page part (`PagePart`). If the page disconnects, pending questions
 * reject at once with an error that `isPageGone` detects.
 */
export class PageLink {
  readonly #port: MessagePort;
  readonly #questions: Map<number, PendingQuestion> = new Map();
  readonly #onGone: () => void;
  readonly #onVisible: () => void;
  /** Whether the user sees the page. A page that does not say so counts as visible. */
  visible = true;
  #lastId = 0;
  #isGone = false;

  /** `onVisible` is called after `visible` has changed. */
  constructor(port: MessagePort, onGone: () => void, onVisible: () => void) {
    this.#port = port;
    this.#onGone = onGone;
    this.#onVisible = onVisible;
    port.addEventListener('message', ({ data }: MessageEvent<PageAnswer | PageVisibility>) =>
      this.#receive(data),
    );
    // Some browsers fire `close` when the page has ended, even without a message from the page.
    port.addEventListener('close', () => this.close());
    port.start();
  }

  /** Sends a question to the page. Resolves with the answer. */
  ask<T>(question: unknown, { signal, onProgress, timeoutMs }: AskOptions = {}): Promise<T> {
    const id = ++this.#lastId;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const cancel = (reason: unknown): void => {
      if (!this.#isGone)
        this.#port.postMessage({ type: 'abort', id } satisfies PageQuestion<unknown>);
      this.#questions.get(id)?.reject(reason);
    };
    const onAbort = (): void => cancel(signal?.reason);
    return new Promise<T>((resolve, reject) => {
      if (this.#isGone) return reject(pageGoneError());
      if (signal?.aborted) return reject(signal.reason);
      this.#port.postMessage({ type: 'ask', id, question } satisfies PageQuestion<unknown>);
      this.#questions.set(id, { onProgress, resolve: resolve as (value: unknown) => void, reject });
      signal?.addEventListener('abort', onAbort);
      if (timeoutMs !== undefined)
        timer = setTimeout(
          () =>
            cancel(new AgentError('HOOK_ERROR', `The page did not answer within ${timeoutMs} ms.`)),
          timerMs(timeoutMs),
        );
    }).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#questions.delete(id);
    });
  }

  close(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#port.close();
    for (const { reject } of this.#questions.values()) reject(pageGoneError());
    this.#onGone();
  }

  #receive(answer: PageAnswer | PageVisibility): void {
    if ('visible' in answer) {
      this.visible = answer.visible;
      return this.#onVisible();
    }
    const question = this.#questions.get(answer.id);
    if (!question) return;
    if (!('outcome' in answer)) return question.onProgress?.(answer.progress);
    try {
      question.resolve(fromOutcome(answer.outcome));
    } catch (error) {
      question.reject(error);
    }
  }
}

const goneErrors: WeakSet<object> = new WeakSet();

function pageGoneError(): AgentError {
  const error = new AgentError('ABORTED', 'The page is gone.');
  goneErrors.add(error);
  return error;
}

/** Returns whether a question was rejected because its page disconnected before it answered. */
export function isPageGone(error: unknown): boolean {
  return error instanceof AgentError && goneErrors.has(error);
}
