import type { EventBatch } from '../../event/agent-event.ts';
import type { AgentResult } from '../../event/agent-result.ts';

/**
 * Passes the event batches of a run to its driver. The run starts when the driver asks for the
 * first batch. After each batch, the run waits until the driver asks for the next batch.
 */
export class Outbox implements AsyncIterator<EventBatch, AgentResult, void> {
  readonly #run: () => Promise<AgentResult>;
  #result: Promise<AgentResult> | undefined;
  readonly #batches: EventBatch[] = [];
  readonly #readers: ((batch: EventBatch | undefined) => void)[] = [];
  #waiting: (() => void)[] = [];
  #hasEnded = false;

  constructor(run: () => Promise<AgentResult>) {
    this.#run = run;
  }

  /** Adds a batch. Resolves when the driver asks for the next batch. */
  push(batch: EventBatch): Promise<void> {
    const reader = this.#readers.shift();
    if (reader) reader(batch);
    else this.#batches.push(batch);
    if (this.#readers.length) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Returns the next batch, and the result at the end. Rejects if the run fails. Overlapping reads
   * queue up.
   */
  async next(): Promise<IteratorResult<EventBatch, AgentResult>> {
    this.#result ??= this.#begin();
    const value = await this.#read();
    if (value) return { done: false, value };
    return { done: true, value: await this.#result };
  }

  #read(): Promise<EventBatch | undefined> {
    const batch = this.#batches.shift();
    if (batch || this.#hasEnded) return Promise.resolve(batch);
    const read = new Promise<EventBatch | undefined>((resolve) => this.#readers.push(resolve));
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const goOn of waiting) goOn();
    return read;
  }

  async #begin(): Promise<AgentResult> {
    try {
      return await this.#run();
    } finally {
      this.#hasEnded = true;
      for (const reader of this.#readers.splice(0)) reader(undefined);
    }
  }
}
