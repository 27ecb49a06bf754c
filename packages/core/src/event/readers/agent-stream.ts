import type { AgentEvent, EventBatch } from '../agent-event.ts';
import type { AgentResult } from '../agent-result.ts';
import { onDemand } from './on-demand.ts';
import { PendingReads } from './pending-reads.ts';
import type { RunDriver } from './run-driver.ts';

/**
 * The events of an agent call, as an async iterable of single events. The run starts at the first
 * read or the first use of `result`. A detached run starts at once.
 *
 * If a reader starts the run, this reader sets the pace: the run reads more of the model's reply
 * only when the reader asks. If the reader leaves its loop, the run is canceled. If the run is
 * detached, or if `result` was used before the first read, the run advances on its own. Such a run
 * accepts any number of readers. Each reader gets all events from the start. A slow reader gets
 * adjacent deltas as one delta. A reader that leaves does not stop a detached run.
 *
 * A run keeps about 4 million characters of events. Beyond this size, a late reader gets each
 * finished reply as one `step-reset`, model requests without messages, and only the newest progress
 * of tools.
 */
export class AgentStream<T = unknown> implements AsyncIterable<AgentEvent> {
  readonly runId: string;
  readonly #driver: RunDriver<T>;
  readonly #afterSeq: number;

  /**
   * `afterSeq`: `seq` of the last event that the reader has seen, for a run that advances on its
   * own. Default: 0, before the first event.
   */
  constructor(driver: RunDriver<T>, afterSeq = 0) {
    this.runId = driver.runId;
    this.#driver = driver;
    this.#afterSeq = afterSeq;
  }

  /**
   * Result of the agent call. The first use starts the run. Rejects with the call's `AgentError`.
   */
  get result(): Promise<AgentResult<T>> {
    this.#driver.start();
    return this.#driver.result;
  }

  /** Not a generator, because a generator makes four promises for each of thousands of deltas. */
  [Symbol.asyncIterator](): AsyncIterableIterator<AgentEvent, undefined> {
    const reads = new PendingReads();
    const batches = this.#driver.read(this.#afterSeq, reads);
    const none = ([] as EventBatch).values();
    let unread = none;
    const take = ({ value = [] }: IteratorResult<EventBatch, undefined>) => {
      // Another call may have read meanwhile.
      unread = [...unread, ...value].values();
      return unread.next();
    };
    return {
      next() {
        const event = unread.next();
        if (!event.done) return Promise.resolve(event);
        return reads.add(batches.next().then(take));
      },
      return(value) {
        unread = none;
        return batches.return(value) as Promise<IteratorReturnResult<undefined>>;
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /**
   * Returns the events in batches, one batch per network read or tick of the event loop. No batch
   * is empty. Rejects with `INVALID_INPUT` if another reader sets the pace of the run.
   */
  batches(): AsyncGenerator<EventBatch, undefined> {
    const reads = new PendingReads();
    const batches = this.#driver.read(this.#afterSeq, reads);
    const next = batches.next.bind(batches);
    batches.next = () => reads.add(next());
    return batches;
  }

  /**
   * Returns the batches as a new `ReadableStream`, which does not read ahead. Canceling the stream
   * calls `cancel()`.
   */
  readable(): ReadableStream<EventBatch> {
    return onDemand(this.#driver.read(this.#afterSeq), () => this.cancel());
  }

  /**
   * Aborts the run and waits until its log is complete. Does nothing if the run is detached or has
   * ended.
   */
  cancel(): Promise<void> {
    return this.#driver.cancel();
  }
}
