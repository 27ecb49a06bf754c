/** Time that a store gets after an abort to finish what it writes, in milliseconds. */
const storePatienceMs = 250;
/** The same for code that asks the model or the store through the run. */
const stepsPatienceMs = 10;

interface WaitOptions {
  /** Time between the abort and the end of the wait, in milliseconds. Default: one turn. */
  readonly patienceMs?: number;
  /** Whether the end of the wait is a rejection with the signal's reason. If not, it resolves. */
  readonly strict?: boolean;
  /** Returns whether the wait must go on after its time, because something inside it still runs. */
  readonly isHeld?: () => boolean;
}

/**
 * The waits of one run for code that is plugged in. Such code may never settle, so each wait ends one
 * turn of the event loop after the abort. What the code does later is dropped.
 */
export class Waits {
  readonly #signal: AbortSignal;
  /** Functions that start the time of each open wait. */
  readonly #open: Set<() => void> = new Set();
  /** Whether some code had not settled when its wait ended. */
  abandoned = false;
  /** Whether a wait for the store ended before the store had written. */
  lost = false;
  /** Whether the run is ending. Code that hangs from now on is left out and changes nothing. */
  lenient = false;

  /** Number of wrappers of the call that have begun and not ended, the loop included. */
  depth = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => {
      for (const start of this.#open) start();
    });
  }

  /** Returns the work's value. Rejects with the signal's reason if the run ends first. */
  code<T>(work: T | PromiseLike<T>, options: Pick<WaitOptions, 'isHeld'> = {}): Promise<T> {
    return this.#for(work, { strict: true, ...options }) as Promise<T>;
  }

  /** As `code`, for code that uses the run's own steps. They end before it does. */
  steps<T>(work: T | PromiseLike<T>): Promise<T> {
    return this.#for(work, { strict: true, patienceMs: stepsPatienceMs }) as Promise<T>;
  }

  /** Waits for a hook. `isNotice`: without its value, the run goes on. */
  hook<T>(work: PromiseLike<T>, isNotice: boolean): Promise<T | undefined> {
    return this.#for(work, { strict: !isNotice && !this.lenient });
  }

  /** As `code`, for a store. It gets some time even after the abort. */
  read<T>(work: PromiseLike<T>): Promise<T> {
    return this.#for(work, { strict: true, patienceMs: storePatienceMs }) as Promise<T>;
  }

  /** Waits for a write. Resolves with false if the run ends and the store has not written by then. */
  async store(work: PromiseLike<unknown>): Promise<boolean> {
    const patienceMs = this.lost ? 0 : storePatienceMs;
    const isWritten = await this.#for(
      work.then(() => true),
      { patienceMs },
    );
    if (!isWritten) this.lost = true;
    return isWritten === true;
  }

  /** Whether this was thrown because the run was aborted, not because something failed. */
  isAbort(thrown: unknown): boolean {
    return this.#signal.aborted && thrown === this.#signal.reason;
  }

  /** Throws the signal's reason, unless the run is ending already. */
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
          // Code that fails because of the abort has not failed.
          const isFailure = wasAborted || !signal.aborted || patienceMs === storePatienceMs;
          if (isFailure) reject(error);
          else cut();
        },
      );
    });
  }
}
