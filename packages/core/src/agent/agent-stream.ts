import type { AgentEvent, EventBatch } from '../hook/agent-event.ts';
import type { AgentResult } from './agent-result.ts';
import { pushJoined } from './join-deltas.ts';

export interface AgentStreamOptions {
  readonly runId: string;
  readonly events: AsyncGenerator<EventBatch, AgentResult>;
  readonly abort: () => void;
  readonly detached: boolean;
}

/**
 * A call as it happens: an async iterable of single events, served from the current batch. The run starts at the first read or the
 * first use of `result`, a detached one at once.
 *
 * With one reader the reader sets the pace: while it does not ask, the model's answer is not read. Leaving its loop cancels the run.
 * A detached run, and one whose `result` was asked for before it was read, goes on by itself: any number of readers, each gets
 * everything from the start, with adjacent deltas joined where it was slow, and leaving does nothing to the run.
 */
export class AgentStream implements AsyncIterable<AgentEvent> {
  readonly runId: string;
  readonly #options: AgentStreamOptions;
  readonly #result: Promise<AgentResult>;
  readonly #log: AgentEvent[] = [];
  /** Events of the log that a reader has; deltas are joined behind them only. */
  #taken = 0;
  #waiting: (() => void)[] = [];
  #state: 'new' | 'paced' | 'driven' | 'ended' = 'new';
  #resolve!: (result: AgentResult) => void;
  #reject!: (error: unknown) => void;

  constructor(options: AgentStreamOptions) {
    this.runId = options.runId;
    this.#options = options;
    this.#result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever reads the events sees the failure there; nobody asking for `result` must not make it an unhandled rejection.
    this.#result.catch(() => {});
    if (options.detached) this.#drive();
  }

  /** Rejects with the call's `AgentError`. */
  get result(): Promise<AgentResult> {
    if (this.#state === 'new') this.#drive();
    return this.#result;
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent> {
    const batches = this.batches();
    let batch: EventBatch = [];
    let index = 0;
    const next = async (): Promise<IteratorResult<AgentEvent>> => {
      const read = await batches.next();
      if (read.done) return { done: true, value: undefined };
      batch = read.value;
      index = 1;
      return { done: false, value: batch[0]! };
    };
    return {
      next: () => (index < batch.length ? Promise.resolve({ done: false, value: batch[index++]! }) : next()),
      return: async () => {
        await batches.return(undefined);
        return { done: true, value: undefined };
      },
    };
  }

  /** The arrays themselves: one a network read or tick. Never empty. */
  async *batches(): AsyncGenerator<EventBatch, undefined> {
    if (this.#state === 'paced') throw new TypeError('This stream has a reader already.');
    if (this.#state !== 'new') return yield* this.#follow();
    this.#state = 'paced';
    try {
      for (let batch = await this.#pull(); batch; batch = await this.#pull()) yield batch;
    } finally {
      await this.cancel();
    }
  }

  /** The batches as a stream, made when asked for; nothing is read ahead. Cancelling it is `cancel()`. */
  readable(): ReadableStream<EventBatch> {
    const batches = this.batches();
    return new ReadableStream<EventBatch>(
      {
        async pull(controller) {
          const { done, value } = await batches.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: () => this.cancel(),
      },
      { highWaterMark: 0 },
    );
  }

  /** Aborts the run and waits until its log is in order; of a detached run, or one that ended, it does nothing. */
  async cancel(): Promise<void> {
    if (this.#options.detached || this.#state === 'ended') return;
    this.#options.abort();
    if (this.#state !== 'driven') this.#drive();
    await this.#result.catch(() => {});
  }

  async *#follow(): AsyncGenerator<EventBatch, undefined> {
    for (let from = 0; ;) {
      while (from === this.#log.length && this.#state !== 'ended') await new Promise<void>((resolve) => this.#waiting.push(resolve));
      if (from === this.#log.length) break;
      const batch = this.#log.slice(from);
      // Before the reader has it: while it is busy with the batch the log grows.
      from = this.#taken = this.#log.length;
      yield batch;
    }
    await this.#result;
  }

  /** The run's next batch; reads that overlap queue up, as generators have it. */
  async #pull(): Promise<EventBatch | undefined> {
    if (this.#state === 'ended') return void (await this.#result);
    try {
      const { done, value } = await this.#options.events.next();
      if (!done) return value;
      this.#state = 'ended';
      this.#resolve(value);
    } catch (error) {
      this.#state = 'ended';
      this.#reject(error);
      throw error;
    }
    return undefined;
  }

  /** Runs to the end without waiting for a reader. */
  #drive(): void {
    this.#state = 'driven';
    const wake = (): void => this.#waiting.splice(0).forEach((resolve) => resolve());
    const run = async (): Promise<void> => {
      for (let batch = await this.#pull(); batch; batch = await this.#pull()) {
        for (const event of batch) pushJoined(this.#log, event, this.#taken);
        wake();
      }
    };
    run().then(wake, wake);
  }
}
