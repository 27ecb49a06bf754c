import { AgentError } from '../../error/agent-error.ts';
import type { EventBatch } from '../../event/agent-event.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import { addToLog, logSince, type LogLimit, type RunLog } from './run-log.ts';

export interface RunDriverOptions<T = unknown> {
  readonly runId: string;
  readonly events: AsyncIterator<EventBatch, AgentResult<T>, void>;
  readonly detached?: boolean | undefined;
  /** Limit of the stored events for readers. Default: no limit. */
  readonly limit?: LogLimit;
  abort(): void;
}

/**
 * Advances one run and passes its event batches to readers. If a reader starts the run, the run
 * waits for this reader after each batch. Otherwise the run advances on its own, and stores its
 * events for any number of readers.
 */
export class RunDriver<T = unknown> {
  readonly runId: string;
  /** Result of the run. Rejects with the run's error. */
  readonly result: Promise<AgentResult<T>>;
  readonly #options: RunDriverOptions<T>;
  #settle!: readonly [resolve: (result: AgentResult<T>) => void, reject: (error: unknown) => void];
  /** The next batch, if the run advances on its own. */
  #next: Promise<EventBatch | undefined> | undefined;
  /** All events so far, if the run has advanced on its own from its start. */
  #log: RunLog | undefined;
  /** Batches after `release()`, for the reader that set the pace. */
  readonly #rest: EventBatch[] = [];
  #state: 'new' | 'paced' | 'driven' | 'ended' = 'new';

  constructor(options: RunDriverOptions<T>) {
    this.runId = options.runId;
    this.#options = options;
    this.result = new Promise((...settle) => (this.#settle = settle));
    // Readers get the failure from their stream. Without this `catch`, an unused `result` would be
    // an unhandled rejection.
    this.result.catch(() => {});
  }

  /**
   * Whether the run stores no events for other readers. True before the start, and if a reader sets
   * the pace.
   */
  get paced(): boolean {
    return !this.#log;
  }

  /** Starts the run without a reader. Does nothing if the run has started already. */
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
   * Yields batches to a reader. If the run has not started, starts it, and this reader sets the
   * pace. If the run advances on its own, yields all events after `seq`. Rejects with
   * `INVALID_INPUT` if another reader sets the pace.
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
   * Aborts the run and waits for its end, so that the session's log is complete. Does nothing if
   * the run is detached or has ended.
   */
  async cancel(): Promise<void> {
    if (this.#options.detached || this.#state === 'ended') return;
    this.#options.abort();
    this.release();
    await this.result.catch(() => {});
  }

  /**
   * Lets the run continue without waiting for its reader. The reader gets the remaining batches
   * later.
   */
  release(): void {
    if (this.#state === 'new' || this.#state === 'paced') this.#drive();
  }

  #keep(batch: EventBatch): void {
    if (!this.#log) return void this.#rest.push(batch);
    for (const event of batch) {
      addToLog(this.#log, event);
      this.#log = this.#options.limit?.(this.#log, event) ?? this.#log;
    }
  }

  async #drive(): Promise<void> {
    this.#state = 'driven';
    try {
      // The driver awaits each batch before the readers do. The batch is therefore in the log when
      // the readers continue.
      for (;;) {
        this.#next = this.pull();
        const batch = await this.#next;
        if (!batch) break;
        this.#keep(batch);
      }
    } catch {
      // `result` rejects with the same error.
    }
  }
}
