import { AgentError } from '@isoloop/core';
import { timerMs } from '@isoloop/core/wait';
import {
  fromOutcome,
  type PageCallUpdate,
  type PageCall,
  type PageVisibility,
} from '../../wire/protocol.ts';

export interface PageCallOptions {
  /**
   * Signal that aborts the call. The page then gets a message, and the call rejects with
   * the signal's reason.
   */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: unknown) => void;
  /** Maximum time until the page answers, in milliseconds. Default: no limit. */
  readonly timeoutMs?: number;
}

/** Call of the page without an outcome. */
interface ActivePageCall {
  readonly onProgress: ((progress: unknown) => void) | undefined;
  resolve(value: unknown): void;
  reject(reason: unknown): void;
}

/**
 * Worker's end of the port of a page part (`PagePart`). If the page disconnects, active calls
 * reject at once with an error that `isPageGone` detects.
 */
export class PageLink {
  readonly #port: MessagePort;
  readonly #calls: Map<number, ActivePageCall> = new Map();
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
    port.addEventListener('message', ({ data }: MessageEvent<PageCallUpdate | PageVisibility>) =>
      this.#receive(data),
    );
    // Some browsers fire `close` when the page has ended, even without a message from the page.
    port.addEventListener('close', () => this.close());
    port.start();
  }

  /** Calls the part on the page. Resolves with its result. */
  call<T>(body: unknown, { signal, onProgress, timeoutMs }: PageCallOptions = {}): Promise<T> {
    const id = ++this.#lastId;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const cancel = (reason: unknown): void => {
      if (!this.#isGone) this.#port.postMessage({ type: 'abort', id } satisfies PageCall<unknown>);
      this.#calls.get(id)?.reject(reason);
    };
    const onAbort = (): void => cancel(signal?.reason);
    return new Promise<T>((resolve, reject) => {
      if (this.#isGone) return reject(pageGoneError());
      if (signal?.aborted) return reject(signal.reason);
      this.#port.postMessage({ type: 'call', id, body } satisfies PageCall<unknown>);
      this.#calls.set(id, { onProgress, resolve: resolve as (value: unknown) => void, reject });
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
      this.#calls.delete(id);
    });
  }

  close(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#port.close();
    for (const { reject } of this.#calls.values()) reject(pageGoneError());
    this.#onGone();
  }

  #receive(message: PageCallUpdate | PageVisibility): void {
    if ('visible' in message) {
      this.visible = message.visible;
      return this.#onVisible();
    }
    const call = this.#calls.get(message.id);
    if (!call) return;
    if (!('outcome' in message)) return call.onProgress?.(message.progress);
    try {
      call.resolve(fromOutcome(message.outcome));
    } catch (error) {
      call.reject(error);
    }
  }
}

const goneErrors: WeakSet<object> = new WeakSet();

function pageGoneError(): AgentError {
  const error = new AgentError('ABORTED', 'The page is gone.');
  goneErrors.add(error);
  return error;
}

/** Returns whether a call was rejected because its page disconnected before it answered. */
export function isPageGone(error: unknown): boolean {
  return error instanceof AgentError && goneErrors.has(error);
}
