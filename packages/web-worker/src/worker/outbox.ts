import { AgentError } from '@isoloop/core';
import type { AgentEvent, AgentResult, EventBatch } from '@isoloop/core';
import {
  initialCredits,
  type CreditMessage,
  type Outcome,
  type RunMessage,
} from '../wire/protocol.ts';

export interface OutboxOptions<T> {
  readonly port: MessagePort;
  /** Converts events to the items the page receives, in their order. */
  readonly encode: (events: EventBatch) => readonly T[];
  /** Calls `task` in its own macrotask. */
  readonly later: (task: () => void) => void;
}

/**
 * The worker's end of a run's port. It joins the batches of one macrotask into one message, and
 * stops when the credits are spent.
 */
export class Outbox<T> {
  readonly #port: MessagePort;
  readonly #encode: (events: EventBatch) => readonly T[];
  readonly #later: (task: () => void) => void;
  #credits = initialCredits;
  #events: AgentEvent[] = [];
  #reads = 0;
  #scheduled = false;
  #closed = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;
  /**
   * Called when a message could not be sent. A run without new events would not notice otherwise.
   */
  onFailure: (() => void) | undefined;

  constructor({ port, encode, later }: OutboxOptions<T>) {
    this.#port = port;
    this.#encode = encode;
    this.#later = later;
    port.addEventListener('message', ({ data }: MessageEvent<CreditMessage>) => {
      this.#credits += data.credits;
      this.#wake?.();
    });
    port.start();
  }

  /** Resolves when the page may get another batch. Rejects if the last one could not be sent. */
  async ready(): Promise<void> {
    while (this.#credits <= 0 && !this.#closed && !this.#failure)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#failure) throw this.#failure.error;
  }

  /** Adds one batch of the run, which costs a credit. */
  add(batch: EventBatch): void {
    this.#credits -= 1;
    this.#reads += 1;
    for (const event of batch) this.#events.push(event);
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#later(() => this.#flush());
  }

  /**
   * Sends the last message. Sends an error instead if the result, or a batch before it, could not
   * be sent.
   */
  end(outcome: Outcome<AgentResult>): void {
    this.#flush();
    if (!this.#failure) this.#post(() => ({ type: 'end', outcome }));
    const failure = this.#failure;
    if (failure)
      this.#post(() => ({
        type: 'end',
        outcome: { ok: false, error: AgentError.from(failure.error).toJSON() },
      }));
  }

  /** Closes the port when the page is gone: nothing more is sent, and nothing waits for it. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
    this.#port.close();
  }

  #flush(): void {
    this.#scheduled = false;
    if (!this.#reads) return;
    const [events, reads] = [this.#events, this.#reads];
    this.#events = [];
    this.#reads = 0;
    this.#post(() => ({ type: 'batch', items: this.#encode(events), reads }));
  }

  #post(message: () => RunMessage<T>): void {
    if (this.#closed) return;
    try {
      this.#port.postMessage(message());
    } catch (error) {
      this.#failure ??= { error };
      this.#wake?.();
      this.onFailure?.();
    }
  }
}
