import { AgentError } from '@isoloop/core';
import type { AgentResult } from '@isoloop/core';
import type { Lifeline } from './lifeline.ts';
import { boundaryError } from './lifeline.ts';
import { fromOutcome } from './outcome.ts';
import { initialCredits, type CreditMessage, type RunMessage } from './protocol.ts';

export interface RemoteRunOptions<W, T> {
  readonly lifeline: Lifeline;
  readonly signal: AbortSignal | undefined;
  /** Asks the worker for the run; rejects only where the request can't be sent. */
  readonly open: (request: { readonly aborted: boolean; readonly port: MessagePort }) => Promise<void>;
  /** Tells the worker to abort the run. */
  readonly abort: () => void;
  /** What the items of a message stand for. */
  readonly decode: (items: readonly W[]) => readonly T[];
}

export interface RemoteRun<T> {
  /** Starts the run at the first read. */
  readonly batches: AsyncGenerator<readonly T[], AgentResult>;
  readonly abort: () => void;
}

/** A run in the worker. What is not read is not asked for: the worker goes on only as far as its credits. */
export function remoteRun<W, T>({ lifeline, signal, open, abort, decode }: RemoteRunOptions<W, T>): RemoteRun<T> {
  const state = { opened: false, aborted: false, ended: false };
  const stop = (): void => {
    if (state.aborted) return;
    state.aborted = true;
    if (state.opened) abort();
  };

  async function* read(): AsyncGenerator<readonly T[], AgentResult> {
    if (lifeline.error) throw lifeline.error;
    const { port1, port2 } = new MessageChannel();
    const inbox = new Inbox<W>(port1);
    const off = lifeline.onCut((error) => inbox.fail(error));
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    try {
      state.opened = true;
      open({ aborted: state.aborted, port: port2 }).catch((error: unknown) => inbox.fail(boundaryError(error)));
      for (;;) {
        const message = await inbox.next();
        if (message.type === 'end') {
          state.ended = true;
          return fromOutcome(message.outcome);
        }
        if (message.items.length) yield decode(message.items);
        inbox.grant(message.reads);
      }
    } finally {
      if (!state.ended) stop();
      off();
      signal?.removeEventListener('abort', stop);
      port1.close();
    }
  }

  return { batches: read(), abort: stop };
}

/** A run's port: messages wait here until they are read. */
class Inbox<T> {
  readonly #port: MessagePort;
  readonly #messages: RunMessage<T>[] = [];
  #failure: AgentError | undefined;
  #wake: (() => void) | undefined;
  #read = 0;

  constructor(port: MessagePort) {
    this.#port = port;
    port.addEventListener('message', ({ data }: MessageEvent<RunMessage<T>>) => {
      this.#messages.push(data);
      this.#wake?.();
    });
    port.addEventListener('messageerror', () => this.fail(new AgentError('WORKER_FAILED', 'What the worker sent could not be read.')));
    port.start();
  }

  fail(error: AgentError): void {
    this.#failure ??= error;
    this.#wake?.();
  }

  async next(): Promise<RunMessage<T>> {
    for (;;) {
      const message = this.#messages.shift();
      if (message) return message;
      if (this.#failure) throw this.#failure;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Half of the credits at a time, so that the worker seldom waits for the next. */
  grant(reads: number): void {
    this.#read += reads;
    if (this.#read < initialCredits / 2) return;
    this.#port.postMessage({ credits: this.#read } satisfies CreditMessage);
    this.#read = 0;
  }
}
