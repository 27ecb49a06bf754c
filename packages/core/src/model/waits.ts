import { onAbort } from './abortable.ts';

/** Time that a store gets to finish after an abort, in milliseconds. */
const storePatienceMs = 250;

interface WaitOptions {
  /**
   * Time between the abort and the end of the wait, in milliseconds. Default: 0, one turn of the
   * event loop.
   */
  readonly patienceMs?: number;
  /**
   * Whether the wait rejects with the signal's reason when its time is over. Default: it resolves
   * with `undefined`.
   */
  readonly strict?: boolean;
  /** Returns whether the wait must continue after its time, because inner code still runs. */
  readonly isHeld?: () => boolean;
}

/**
 * Waits of one run for external code: hooks, middleware and stores. External code may never settle,
 * so each wait ends a short time after an abort. Values and errors that come later are dropped.
 */
export class Waits {
  readonly #signal: AbortSignal;
  /** Errors of steps of the run. */
  readonly #stepErrors: Set<unknown> = new Set();
  /** Number of wrappers and steps that have begun and not ended. */
  #depth = 0;
  /** Functions that start the timer of each open wait. */
  readonly #open: Set<() => void> = new Set();
  /** Whether some code had not settled when its wait ended. */
  abandoned = false;
  /** Whether a wait for a write ended before the write. */
  lost = false;
  /** Whether the run is ending. A hook or a write that hangs then no longer makes the run fail. */
  lenient = false;

  /** Stops listening to the signal. Call it if the signal lives longer than these waits. */
  readonly end: () => void;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.end = onAbort(signal, () => {
      for (const start of this.#open) start();
    });
  }

  /** Returns the value of `work`. Rejects with the signal's reason if the run is aborted first. */
  code<T>(work: T | PromiseLike<T>): Promise<T> {
    return this.#for(work, { strict: true }) as Promise<T>;
  }

  /**
   * Same as `code`, for a wrapper. Does not end before the inner wrappers and the steps of the run
   * that they began have ended.
   */
  async wrapper<T>(begin: () => Promise<T>): Promise<T> {
    this.#depth += 1;
    const depth = this.#depth;
    try {
      const isHeld = (): boolean => this.#depth > depth;
      return (await this.#for(begin(), { strict: true, isHeld })) as T;
    } finally {
      this.#depth -= 1;
    }
  }

  /** Runs a step of the run. The wrappers around it wait for its end, and for its error. */
  async hold<T>(step: () => Promise<T>): Promise<T> {
    this.#depth += 1;
    try {
      return await step();
    } catch (error) {
      this.#stepErrors.add(error);
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  /**
   * Waits for a hook. `isNotice`: the wait resolves after an abort, because the run does not need
   * the hook's value.
   */
  hook<T>(work: PromiseLike<T>, isNotice: boolean): Promise<T | undefined> {
    return this.#for(work, { strict: !isNotice && !this.lenient });
  }

  /** Same as `code`, for a read from a store. The store gets some time after an abort. */
  read<T>(work: PromiseLike<T>): Promise<T> {
    return this.#for(work, { strict: true, patienceMs: storePatienceMs }) as Promise<T>;
  }

  /**
   * Waits for a write. Resolves with false if the write has not ended a short time after an abort.
   */
  async store(work: PromiseLike<unknown>): Promise<boolean> {
    const patienceMs = this.lost ? 0 : storePatienceMs;
    const isWritten = await this.#for(
      work.then(() => true),
      { patienceMs },
    );
    if (!isWritten) this.lost = true;
    return isWritten === true;
  }

  /** Returns whether `thrown` comes from the abort of the run, not from a failure. */
  isAbort(thrown: unknown): boolean {
    return this.#signal.aborted && thrown === this.#signal.reason;
  }

  /** Throws the signal's reason, unless the run is ending. */
  endUnlessLenient(): void {
    if (!this.lenient) throw this.#signal.reason;
  }

  #for<T>(work: T | PromiseLike<T>, options: WaitOptions): Promise<T | undefined> {
    const { patienceMs = 0, strict = false, isHeld } = options;
    const signal = this.#signal;
    return new Promise((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const cut = (): void => (strict ? reject(signal.reason) : resolve(undefined));
      const wait = (): void => {
        timer = setTimeout(() => {
          if (isHeld?.()) return wait();
          this.abandoned = true;
          end();
          cut();
        }, patienceMs);
      };
      const end = (): void => {
        this.#open.delete(wait);
        clearTimeout(timer);
      };
      const wasAborted = signal.aborted;
      if (wasAborted) wait();
      else this.#open.add(wait);
      Promise.resolve(work).then(
        (value) => {
          end();
          resolve(value);
        },
        (error: unknown) => {
          end();
          // An error after an abort is a consequence of the abort, not a failure, unless the store or
          // a step of the run has failed.
          const isOfRun = patienceMs === storePatienceMs || this.#stepErrors.has(error);
          const isFailure = wasAborted || !signal.aborted || isOfRun;
          if (isFailure) reject(error);
          else cut();
        },
      );
    });
  }
}
