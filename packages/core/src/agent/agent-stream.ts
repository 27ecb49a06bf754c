import type { AgentEvent, EventBatch } from '../hook/agent-event.ts';
import type { AgentResult } from './agent-result.ts';
import { EventFeed, pushJoined } from './event-feed.ts';

export interface AgentStreamOptions {
  readonly runId: string;
  readonly events: AsyncGenerator<EventBatch, AgentResult>;
  readonly abort: (reason?: unknown) => void;
  readonly detached: boolean;
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

/**
 * A call as it happens: an async iterable of single events, served from the current batch. The run starts at the first read or the
 * first use of `result`, a detached one at once.
 *
 * With one reader the reader sets the pace: while it does not ask, the model's answer is not read. Leaving its loop cancels the run.
 * A detached run, and one whose `result` was asked for before it was read, goes on by itself: any number of readers, each gets
 * everything from the start, a slow one with adjacent deltas joined, and leaving does nothing to the run.
 */
export class AgentStream implements AsyncIterable<AgentEvent> {
  readonly runId: string;
  readonly #events: AsyncGenerator<EventBatch, AgentResult>;
  readonly #abort: (reason?: unknown) => void;
  readonly #result: Deferred<AgentResult> = deferred();
  readonly #detached: boolean;
  readonly #replay: AgentEvent[] = [];
  readonly #feeds: Set<EventFeed> = new Set();
  #mode: 'idle' | 'paced' | 'driven' | 'ended' = 'idle';
  #ending: { readonly error: unknown } | undefined;
  #reading: Promise<EventBatch | undefined> | undefined;

  constructor(options: AgentStreamOptions) {
    const { runId, events, abort, detached } = options;
    this.runId = runId;
    this.#events = events;
    this.#abort = abort;
    this.#detached = detached;
    // Whoever reads the events sees the failure there; `result` alone must not become an unhandled rejection.
    this.#result.promise.catch(() => {});
    if (detached) this.#drive();
  }

  /** Rejects with the call's `AgentError`. */
  get result(): Promise<AgentResult> {
    if (this.#mode === 'idle') this.#drive();
    return this.#result.promise;
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent> {
    const batches = this.batches()[Symbol.asyncIterator]();
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
        await batches.return?.();
        return { done: true, value: undefined };
      },
    };
  }

  /** The arrays themselves: one a network read or tick. Never empty. */
  batches(): AsyncIterable<EventBatch> {
    return { [Symbol.asyncIterator]: () => this.#reader() };
  }

  /** The batches as a stream, made when asked for; nothing is read ahead. Cancelling it is `cancel()`. */
  readable(): ReadableStream<EventBatch> {
    const reader = this.#reader();
    return new ReadableStream<EventBatch>(
      {
        async pull(controller) {
          const { done, value } = await reader.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: async () => void (await reader.return?.()),
      },
      { highWaterMark: 0 },
    );
  }

  /** Aborts the run and waits until its log is in order; of a detached run, or one that ended, it does nothing. */
  async cancel(): Promise<void> {
    if (this.#detached || this.#mode === 'ended') return;
    this.#abort();
    if (this.#mode === 'idle') this.#drive();
    else if (this.#mode === 'paced') await this.#drain();
    await this.#result.promise.catch(() => {});
  }

  #reader(): AsyncIterator<EventBatch> {
    if (this.#mode === 'idle') this.#mode = 'paced';
    else if (this.#mode === 'paced') throw new TypeError('This stream has a reader already; ask for a detached run to have several.');
    if (this.#mode !== 'paced') return this.#follow();
    return {
      next: async () => toIteration(await this.#pull()),
      return: async () => {
        await this.cancel();
        return { done: true, value: undefined };
      },
    };
  }

  #follow(): AsyncIterator<EventBatch> {
    const feed = new EventFeed(this.#replay);
    if (this.#mode === 'ended') feed.end(this.#ending);
    else this.#feeds.add(feed);
    return {
      next: async () => toIteration(await feed.next()),
      return: async () => {
        this.#feeds.delete(feed);
        return { done: true, value: undefined };
      },
    };
  }

  /** One batch of the run; a second read waits for the first, as generators do. */
  #pull(): Promise<EventBatch | undefined> {
    if (this.#mode === 'ended') return this.#ending ? Promise.reject(this.#ending.error) : Promise.resolve(undefined);
    return (this.#reading = this.#events.next().then(
      (read) => {
        if (!read.done) return read.value;
        this.#end();
        this.#result.resolve(read.value);
        return undefined;
      },
      (error: unknown) => {
        this.#end({ error });
        this.#result.reject(error);
        throw error;
      },
    ));
  }

  async #drain(): Promise<void> {
    await this.#reading?.catch(() => {});
    try {
      while (await this.#pull());
    } catch {
      // `result` has it.
    }
  }

  /** Runs to the end without waiting for a reader. */
  #drive(): void {
    this.#mode = 'driven';
    const run = async (): Promise<void> => {
      for (let batch = await this.#pull(); batch; batch = await this.#pull()) {
        for (const event of batch) pushJoined(this.#replay, event);
        for (const feed of this.#feeds) feed.push(batch);
      }
    };
    run().catch(() => {});
  }

  #end(failure?: { readonly error: unknown }): void {
    this.#mode = 'ended';
    this.#ending = failure;
    for (const feed of this.#feeds) feed.end(failure);
    this.#feeds.clear();
  }
}

function toIteration(batch: EventBatch | undefined): IteratorResult<EventBatch> {
  return batch ? { done: false, value: batch } : { done: true, value: undefined };
}

// Promise.withResolvers is missing from Safari before 17.4 and Node before 22.
function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
