import type { EventBatch } from '../hook/agent-event.ts';
import type { AgentResult } from './agent-result.ts';
import { RunLog } from './run-log.ts';

export interface RunDriverOptions<T = unknown> {
  readonly runId: string;
  readonly events: AsyncGenerator<EventBatch, AgentResult<T>>;
  readonly abort: () => void;
  readonly detached: boolean;
}

/** Moves one run on: at its only reader's pace, or by itself, and then it keeps what was said for any number of readers. */
export class RunDriver<T = unknown> {
  readonly runId: string;
  readonly detached: boolean;
  readonly result: Promise<AgentResult<T>>;
  readonly #options: RunDriverOptions<T>;
  readonly #log: RunLog = new RunLog();
  #waiting: (() => void)[] = [];
  #resolve!: (result: AgentResult<T>) => void;
  #reject!: (error: unknown) => void;
  state: 'new' | 'paced' | 'driven' | 'ended' = 'new';
  /** Whether the log has all of it. */
  logged = false;

  constructor(options: RunDriverOptions<T>) {
    this.runId = options.runId;
    this.detached = options.detached;
    this.#options = options;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever reads the events sees the failure there; nobody asking for `result` must not make it an unhandled rejection.
    this.result.catch(() => {});
    if (options.detached) this.drive();
  }

  /** The run's next batch; reads that overlap queue up, as generators have it. */
  async pull(): Promise<EventBatch | undefined> {
    if (this.state === 'ended') return void (await this.result);
    try {
      const { done, value } = await this.#options.events.next();
      if (!done) return value;
      this.state = 'ended';
      this.#resolve(value);
    } catch (error) {
      this.state = 'ended';
      this.#reject(error);
      throw error;
    }
    return undefined;
  }

  /** Runs to the end without waiting for a reader. */
  drive(): void {
    this.logged = this.state === 'new';
    this.state = 'driven';
    const wake = (): void => this.#waiting.splice(0).forEach((resolve) => resolve());
    const run = async (): Promise<void> => {
      for (let batch = await this.pull(); batch; batch = await this.pull()) {
        if (this.logged) for (const event of batch) this.#log.add(event);
        wake();
      }
    };
    run().then(wake, wake);
  }

  /** What the log has after `seq`, as it grows, to the end of the run. */
  async *follow(seq: number): AsyncGenerator<EventBatch, undefined> {
    for (let seen = seq; ;) {
      const batch = this.#log.since(seen);
      seen = batch.at(-1)?.seq ?? seen;
      if (batch.length) yield batch;
      else if (this.state === 'ended') return void (await this.result);
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Aborts the run and waits until its log is in order; of a detached run, or one that ended, it does nothing. */
  async cancel(): Promise<void> {
    if (this.detached || this.state === 'ended') return;
    this.#options.abort();
    if (this.state !== 'driven') this.drive();
    await this.result.catch(() => {});
  }
}
