import type { AgentEvent, EventBatch } from '../event/agent-event.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { RunDriver } from '../loop/driver/run-driver.ts';

/**
 * A call as it happens: an async iterable of single events. The run starts at the first read or the
 * first use of `result`. A detached run starts at once.
 *
 * A single reader sets the pace: while it does not ask, the model's answer is not read. If it
 * leaves its loop, the run is canceled. A run goes on by itself if it is detached, or if `result`
 * was used before the first read. Such a run takes any number of readers. Each gets everything from
 * the start, with adjacent deltas joined for a slow reader. A run keeps about 4 million characters of
 * events. Beyond that, a late reader gets finished replies whole, as a `step-reset`, their requests
 * without messages, and only the newest progress of tools. A reader that leaves does not stop a
 * detached run.
 */
export class AgentStream<T = unknown> implements AsyncIterable<AgentEvent> {
  readonly runId: string;
  readonly #driver: RunDriver<T>;
  readonly #afterSeq: number;

  /**
   * `afterSeq`: number of the last event the reader has seen, for a run that goes on by itself.
   * Default: none.
   */
  constructor(driver: RunDriver<T>, afterSeq = 0) {
    this.runId = driver.runId;
    this.#driver = driver;
    this.#afterSeq = afterSeq;
  }

  /** Rejects with the call's `AgentError`. */
  get result(): Promise<AgentResult<T>> {
    this.#driver.start();
    return this.#driver.result;
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    const batches = this.batches();
    let events = ([] as EventBatch).values();
    let reading: ReturnType<typeof batches.next> | undefined;
    return {
      async next() {
        for (;;) {
          const event = events.next();
          if (!event.done) return event;
          // Overlapping reads share a batch.
          const waited = (reading ??= batches.next());
          const read = await waited;
          if (read.done) return read;
          if (reading !== waited) continue;
          events = read.value.values();
          reading = undefined;
        }
      },
      return: () => batches.return(undefined) as Promise<IteratorReturnResult<undefined>>,
    };
  }

  /**
   * Returns the events in batches, one per network read or tick; none is empty. Rejects with
   * `INVALID_INPUT` if the run has its one reader already.
   */
  batches(): AsyncGenerator<EventBatch, undefined> {
    return this.#driver.read(this.#afterSeq);
  }

  /**
   * Returns a new stream of the batches, which reads nothing ahead. Canceling the stream calls
   * `cancel()`.
   */
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

  /**
   * Aborts the run and waits until its log is in order. Does nothing for a detached run, or one
   * that has ended.
   */
  cancel(): Promise<void> {
    return this.#driver.cancel();
  }
}
