import type { AgentEvent, EventBatch } from '../event/agent-event.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { RunDriver } from '../loop/driver/run-driver.ts';

/**
 * A call as it happens: an async iterable of single events, served from the current batch. The run
 * starts at the first read or the first use of `result`, a detached one at once.
 *
 * With one reader the reader sets the pace: while it does not ask, the model's answer is not read.
 * Leaving its loop cancels the run. A detached run, and one whose `result` was asked for before it
 * was read, goes on by itself: any number of readers, each gets everything from the start, with
 * adjacent deltas joined where it was slow, and leaving does nothing to a detached run.
 */
export class AgentStream<T = unknown> implements AsyncIterable<AgentEvent> {
  readonly runId: string;
  readonly #driver: RunDriver<T>;
  readonly #afterSeq: number;

  /**
   * `afterSeq`: what a reader of a run that goes on by itself has seen already. Default: nothing.
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
          // Reads that overlap share a batch.
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
   * The arrays themselves: one a network read or tick. Never empty. Rejects with `INVALID_INPUT`
   * where the run has its one reader.
   */
  batches(): AsyncGenerator<EventBatch, undefined> {
    return this.#driver.read(this.#afterSeq);
  }

  /**
   * The batches as a stream, made when asked for; nothing is read ahead. Cancelling it is
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
   * Aborts the run and waits until its log is in order; of a detached run, or one that ended, it
   * does nothing.
   */
  cancel(): Promise<void> {
    return this.#driver.cancel();
  }
}
