import { AgentError, type AgentEvent, type AgentResult, type EventBatch } from '@isoloop/core';
import {
  initialCredits,
  type CreditMessage,
  type Outcome,
  type RunMessage,
  type MessageStart,
} from '../wire/protocol.ts';
import type { RunReader } from '../session/runs/run-feed.ts';

/** Converts the events of a run to the items that the page receives, in the same order. */
export interface Encoding<T> {
  /** Called once, before the first events. */
  begin?(start: MessageStart): void;
  encode(events: EventBatch): readonly T[];
}

interface EventSenderOptions<T> {
  readonly port: MessagePort;
  readonly encoding: Encoding<T>;
  /** Function that calls `task` in a macrotask of its own. */
  readonly schedule: (task: () => void) => void;
}

/**
 * Reader that sends the events of a run to a page. Joins all batches of one macrotask into one
 * message. Each batch costs a credit. Without credits, `ready` waits until the page grants more.
 */
export class EventSender<T> implements RunReader {
  readonly #port: MessagePort;
  readonly #encoding: Encoding<T>;
  readonly #schedule: (task: () => void) => void;
  #credits = initialCredits;
  #events: AgentEvent[] = [];
  #batchCount = 0;
  #isScheduled = false;
  #isClosed = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;
  /**
   * Called when a message could not be sent. A run that produces no further events would not detect
   * the failure through `ready`.
   */
  onFailure: (() => void) | undefined;

  constructor({ port, encoding, schedule }: EventSenderOptions<T>) {
    this.#port = port;
    this.#encoding = encoding;
    this.#schedule = schedule;
    port.addEventListener('message', ({ data }: MessageEvent<CreditMessage>) => {
      this.#credits += data.credits;
      this.#wake?.();
    });
    port.start();
  }

  begin(start: MessageStart): void {
    this.#encoding.begin?.(start);
  }

  /** Whether another batch may be sent now. */
  get isReady(): boolean {
    return (this.#credits > 0 || this.#isClosed) && !this.#failure;
  }

  /** Resolves when another batch may be sent. Rejects if a message could not be sent. */
  async ready(): Promise<void> {
    while (!this.isReady && !this.#failure)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#failure) throw this.#failure.error;
  }

  /** Adds one batch of the run. Each batch costs a credit. */
  add(batch: EventBatch): void {
    this.#credits -= 1;
    this.#batchCount += 1;
    for (const event of batch) this.#events.push(event);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => this.#flush());
  }

  /**
   * Sends the last message, with the outcome of the run. If the outcome or an earlier batch cannot
   * be sent, sends an error instead.
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

  /**
   * Closes the port. Call it when the page has gone. Later messages are dropped, and `ready`
   * resolves at once.
   */
  close(): void {
    this.#isClosed = true;
    this.#wake?.();
    this.#port.close();
  }

  #flush(): void {
    this.#isScheduled = false;
    if (!this.#batchCount) return;
    const [events, batchCount] = [this.#events, this.#batchCount];
    this.#events = [];
    this.#batchCount = 0;
    this.#post(() => ({ type: 'batch', items: this.#encoding.encode(events), reads: batchCount }));
  }

  #post(message: () => RunMessage<T>): void {
    if (this.#isClosed) return;
    try {
      this.#port.postMessage(message());
    } catch (error) {
      this.#failure ??= { error };
      this.#wake?.();
      this.onFailure?.();
    }
  }
}
