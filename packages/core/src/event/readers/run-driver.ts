import { AgentError } from '../../error/agent-error.ts';
import type { EventBatch } from '../agent-event.ts';
import type { AgentResult } from '../agent-result.ts';
import { addEvent, eventsSince, type ShortenEventLog, type EventLog } from './event-log.ts';
import { PendingReads } from './pending-reads.ts';

/** The run of a `RunDriver`, and whether it goes on without a reader. */
interface RunDriverOptions<T = unknown> {
  readonly runId: string;
  readonly detached?: boolean | undefined;
  /** Function that keeps the stored events for readers short. Default: keeps all events. */
  readonly shortenLog?: ShortenEventLog;
  /** Runs to the end. Passes the events to `push`, and waits for each promise. */
  run(): Promise<AgentResult<T>>;
  abort(): void;
}

/**
 * Starts one run and passes its event batches to readers. If a reader starts the run, the run waits
 * for this reader after each batch. Otherwise the run advances on its own, and the driver stores
 * its events for any number of readers.
 */
export class RunDriver<T = unknown> {
  readonly runId: string;
  /** Result of the run. Rejects with the run's error. */
  readonly result: Promise<AgentResult<T>>;
  readonly #options: RunDriverOptions<T>;
  #resolveResult!: (result: Promise<AgentResult<T>>) => void;
  /**
   * `paced`: the run waits for its reader after each batch. `free`: the run advances on its own.
   */
  #state: 'new' | 'paced' | 'free' | 'ended' = 'new';
  /** All events so far, for any number of readers. */
  #log: EventLog | undefined;
  /** The batches that the reader that set the pace has not got yet. */
  #unread: EventBatch[] | undefined;
  /** Rings if there is a new batch, or at the end of the run. */
  readonly #news: Bell = new Bell();
  /** Rings if the reader wants another batch. */
  readonly #demand: Bell = new Bell();

  constructor(options: RunDriverOptions<T>) {
    this.runId = options.runId;
    this.#options = options;
    this.result = new Promise((resolve) => (this.#resolveResult = resolve));
    const end = (): void => {
      this.#state = 'ended';
      this.#news.ring();
    };
    // Readers get a failure from their stream, so an unused `result` must not reject unhandled.
    this.result.then(end, end);
  }

  /** The events so far. Absent before the start, and if a reader sets the pace. */
  get log(): Readonly<EventLog> | undefined {
    return this.#log;
  }

  /** Starts the run without a reader. Does nothing if the run has started already. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#log = [];
    this.release();
  }

  /** Adds a batch of the run. Returns a promise if the run has to wait for its reader. */
  push(batch: EventBatch): Promise<void> | undefined {
    this.#unread?.push(batch);
    for (const event of batch) {
      if (!this.#log) break;
      addEvent(this.#log, event);
      this.#log = this.#options.shortenLog?.(this.#log, event) ?? this.#log;
    }
    this.#news.ring();
    if (this.#state === 'paced') return this.#demand.nextRing();
    return undefined;
  }

  /**
   * Yields batches to a reader. If the run has not started, starts it, and this reader sets the
   * pace. If the run advances on its own, yields all events after `seq`. Rejects with
   * `INVALID_INPUT` if another reader sets the pace. `reads`: the caller adds each of its reads.
   */
  async *read(
    seq: number,
    reads: PendingReads = new PendingReads(),
  ): AsyncGenerator<EventBatch, undefined> {
    const setsPace = this.#state === 'new';
    if (setsPace) {
      this.#unread = [];
      this.#run('paced');
    } else if (!this.#log) {
      // The caller adds its first read after the generator has begun.
      await Promise.resolve();
      reads.markHandled();
      throw new AgentError('INVALID_INPUT', 'This stream has a reader already.');
    }
    try {
      for (let lastSeq = seq; ;) {
        const batch = this.#log ? eventsSince(this.#log, lastSeq) : this.#unread?.shift();
        if (batch?.length) {
          lastSeq = batch.at(-1)!.seq;
          reads.settleFirst();
          yield batch;
        } else if (this.#state === 'ended') break;
        else {
          this.#demand.ring();
          await this.#news.nextRing();
        }
      }
    } finally {
      if (setsPace) await this.cancel();
    }
    try {
      await this.result;
    } catch (error) {
      reads.markHandled();
      throw error;
    }
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
   * Lets the run continue without waiting for its reader, or begin without one. A reader gets the
   * remaining batches later.
   */
  release(): void {
    if (this.#state === 'new') this.#run('free');
    if (this.#state === 'paced') this.#state = 'free';
    this.#demand.ring();
  }

  #run(state: 'paced' | 'free'): void {
    this.#state = state;
    this.#resolveResult(this.#options.run());
  }
}

/** Wakes all code that waits for it. */
class Bell {
  #next: Promise<void> | undefined;
  #goOn: (() => void) | undefined;

  nextRing(): Promise<void> {
    return (this.#next ??= new Promise((resolve) => (this.#goOn = resolve)));
  }

  ring(): void {
    this.#goOn?.();
    this.#next = undefined;
  }
}
