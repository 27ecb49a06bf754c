import { AgentError } from '../../error/agent-error.ts';
import type { EventBatch } from '../../event/agent-event.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import { addToLog, logSince, type RunLog } from './run-log.ts';

export interface RunDriverOptions<T = unknown> {
  readonly runId: string;
  readonly events: AsyncIterator<EventBatch, AgentResult<T>, void>;
  readonly detached?: boolean | undefined;
  abort(): void;
}

/**
 * Drives one run. A single reader may set the pace. Otherwise the run drives itself and keeps its
 * events for any number of readers.
 */
export class RunDriver<T = unknown> {
  readonly runId: string;
  /** Rejects with the run's error. */
  readonly result: Promise<AgentResult<T>>;
  readonly #options: RunDriverOptions<T>;
  #settle!: readonly [resolve: (result: AgentResult<T>) => void, reject: (error: unknown) => void];
  /** The batch that a self-driven run waits for. */
  #next: Promise<EventBatch | undefined> | undefined;
  /** All events so far, if the run drives itself. */
  #log: RunLog | undefined;
  /** Batches after a cancel, for a reader that continues. */
  readonly #rest: EventBatch[] = [];
  #state: 'new' | 'paced' | 'driven' | 'ended' = 'new';

  constructor(options: RunDriverOptions<T>) {
    this.runId = options.runId;
    this.#options = options;
    this.result = new Promise((...settle) => (this.#settle = settle));
    // Readers see the failure in their stream. Without this, an unused `result` would be an
    // unhandled rejection.
    this.result.catch(() => {});
    if (options.detached) this.start();
  }

  /**
   * Whether the run keeps no events for more readers, because a reader set its pace or it has not
   * started.
   */
  get paced(): boolean {
    return !this.#log;
  }

  /** Starts the run without a reader, if it has not started. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#log = [];
    this.#drive();
  }

  /** Returns the run's next batch. Overlapping reads queue up. */
  async pull(): Promise<EventBatch | undefined> {
    try {
      const { done, value } = await this.#options.events.next();
      if (!done) return value;
      this.#settle[0](value);
    } catch (error) {
      this.#settle[1](error);
    }
    this.#state = 'ended';
    return void (await this.result);
  }

  /**
   * Yields batches to a reader. The first reader sets the pace; readers of a self-driven run get
   * all events after `seq`. Rejects with `INVALID_INPUT` if another reader sets the pace.
   */
  async *read(seq: number): AsyncGenerator<EventBatch, undefined> {
    for (let seen = seq; this.#log;) {
      const batch = logSince(this.#log, seen);
      seen = batch.at(-1)?.seq ?? seen;
      if (batch.length) yield batch;
      else if (!(await this.#next)) return;
    }
    if (this.#state !== 'new')
      throw new AgentError('INVALID_INPUT', 'This stream has a reader already.');
    this.#state = 'paced';
    try {
      while (this.#state === 'paced') {
        const batch = await this.pull();
        if (!batch) break;
        yield batch;
      }
    } finally {
      await this.cancel();
    }
    yield* this.#rest;
    await this.result;
  }

  /**
   * Aborts the run and waits until it has ended, so that the session's log is in order. Does
   * nothing for a detached run, or one that has ended.
   */
  async cancel(): Promise<void> {
    if (this.#options.detached || this.#state === 'ended') return;
    this.#options.abort();
    this.release();
    await this.result.catch(() => {});
  }

  /** Lets the run go on without the reader that sets its pace. The reader gets the rest later. */
  release(): void {
    if (this.#state === 'new' || this.#state === 'paced') this.#drive();
  }

  async #drive(): Promise<void> {
    this.#state = 'driven';
    try {
      // The driver waits for the batch before any reader does, so it is in the log when readers
      // continue.
      for (;;) {
        this.#next = this.pull();
        const batch = await this.#next;
        if (!batch) break;
        if (this.#log) for (const event of batch) addToLog(this.#log, event);
        else this.#rest.push(batch);
      }
    } catch {
      // `result` rejects with it.
    }
  }
}
