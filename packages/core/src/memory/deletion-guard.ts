import type { Flushes } from './log/log-record.ts';
import { isStart } from './log/lost-start.ts';
import { deletedError } from './log/stored/stored-head.ts';

/**
 * Refuses writes after the session was deleted, until a new message of a user begins a new log. A
 * run that was active at that time can write no more.
 */
export class DeletionGuard {
  #isInRun = false;
  #refusesWrites = false;

  /** Whether a run uses the memory, from `restore` until its end. */
  get isInRun(): boolean {
    return this.#isInRun;
  }

  /** Whether the session was deleted, so that only a new message of a user can begin a new log. */
  get refusesWrites(): boolean {
    return this.#refusesWrites;
  }

  /** Allows the writes of a new run, whose input begins a new log. */
  beginRun(): void {
    this.#isInRun = true;
    this.#refusesWrites = false;
  }

  endRun(): void {
    this.#isInRun = false;
  }

  refuseWrites(): void {
    this.#refusesWrites = true;
  }

  /** Refuses only the writes of the active run, because the caller itself deleted the session. */
  refuseRun(): void {
    this.#refusesWrites = this.#isInRun;
  }

  allowWrites(): void {
    this.#refusesWrites = false;
  }

  /**
   * Throws `SESSION_DELETED` if the active run can write no more. Allows writes again if the
   * records can begin a new log.
   */
  check(records: Flushes[number]): void {
    if (this.#refusesWrites && this.#isInRun) throw deletedError();
    if (records.some(isStart)) this.#refusesWrites = false;
  }
}
