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
 * Moves one run on: at its only reader's pace, or by itself, and then it keeps what was said for
 * any number of readers.
 */
export class RunDriver<T = unknown> {
  readonly runId: string;
  /** Rejects with the run's error. */
  readonly result: Promise<AgentResult<T>>;
  readonly #options: RunDriverOptions<T>;
  #settle!: readonly [resolve: (result: AgentResult<T>) => void, reject: (error: unknown) => void];
  /** The batch that a run without a pace waits for. */
  #next: Promise<EventBatch | undefined> | undefined;
  /** Everything so far, where no reader sets the pace. */
  #log: RunLog | undefined;
  /** What came after a cancel, for a reader that goes on. */
  readonly #rest: EventBatch[] = [];
  #state: 'new' | 'paced' | 'driven' | 'ended' = 'new';

  constructor(options: RunDriverOptions<T>) {
    this.runId = options.runId;
    this.#options = options;
    this.result = new Promise((...settle) => (this.#settle = settle));
    // Whoever reads the events sees the failure there; nobody asking for `result` must not make it
    // an unhandled rejection.
    this.result.catch(() => {});
    if (options.detached) this.start();
  }

  /** Whether it has a reader that sets the pace, or none yet. */
  get paced(): boolean {
    return !this.#log;
  }

  /** Runs to the end without waiting for a reader, if it has not begun. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#log = [];
    this.#drive();
  }

  /** The run's next batch; reads that overlap queue up. */
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
   * For a reader: the pace is its own where it is the first, else all after `seq`. Rejects with
   * `INVALID_INPUT` where another one sets it.
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
   * Aborts the run and waits until its log is in order; of a detached run, or one that ended, it
   * does nothing.
   */
  async cancel(): Promise<void> {
    if (this.#options.detached || this.#state === 'ended') return;
    this.#options.abort();
    if (this.#state !== 'driven') this.#drive();
    await this.result.catch(() => {});
  }

  async #drive(): Promise<void> {
    this.#state = 'driven';
    try {
      // Waits first, so that a batch is in the log when a reader that waits for it goes on.
      for (;;) {
        this.#next = this.pull();
        const batch = await this.#next;
        if (!batch) break;
        if (this.#log) for (const event of batch) addToLog(this.#log, event);
        else this.#rest.push(batch);
      }
    } catch {
      // Told by `result`.
    }
  }
}
