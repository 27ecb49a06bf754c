import { onAbort } from './abortable.ts';

/** Time that a store gets to finish after an abort, in milliseconds. */
const storePatienceMs = 250;

/** Value of a wait for a write that has not ended a short time after an abort. */
const lostWrite: unique symbol = Symbol('lost write');

/** What a run tells its waits. */
interface WaitingRun {
  readonly signal: AbortSignal;
  /** `stopping`: the run only carries out an abort, so a hook that hangs does not stop it again. */
  readonly stage: string;
  /** `unwritten`: writes that the store has not finished. The agent's next run waits for them. */
  readonly setup: { readonly unwritten: Set<Promise<unknown>> };
}

interface WaitOptions<T> {
  /**
   * Whether the wait is for a store. A store gets some time after an abort, and its errors then still
   * count. Other code gets one turn of the event loop.
   */
  readonly isStore?: boolean;
  /**
   * Whether the wait rejects with the signal's reason when its time is over. Default: it resolves
   * with `instead`.
   */
  readonly strict?: boolean;
  readonly instead?: typeof lostWrite;
  /** Returns whether the wait must continue after its time, because inner code still runs. */
  readonly isHeld?: () => boolean;
  /** Throws if the value must not be used. */
  readonly check?: (value: T) => void;
  /** Called once, when the wait ends in any way. */
  readonly onEnd?: () => void;
}

/**
 * Waits of one run for external code: hooks, middleware and stores. External code may never settle,
 * so each wait ends a short time after an abort. Values and errors that come later are dropped. Each
 * method has the name of the code that it waits for.
 */
export class Waits {
  readonly #run: WaitingRun;
  /** Errors of steps of the run. */
  readonly #stepErrors: Set<unknown> = new Set();
  /** Number of wrappers and steps that have begun and not ended. */
  #depth = 0;
  /** Functions that start the timer of each open wait, for the abort. */
  readonly #open: Set<() => void> = new Set();
  /** Whether a wait for a write has ended before the write. Stores then get no more time. */
  #hasLostWrite = false;
  /** Whether a wait ended before its code, which may still run. */
  abandoned = false;

  constructor(run: WaitingRun) {
    this.#run = run;
    onAbort(run.signal, () => {
      for (const start of this.#open) start();
    });
  }

  /** Returns the value of `work`. Rejects with the signal's reason if the run is aborted first. */
  code<T>(work: T | PromiseLike<T>): Promise<T> {
    return this.#for(work, { strict: true }) as Promise<T>;
  }

  /**
   * Same as `code`, for a wrapper. `check` throws if the wrapper made a wrong value. Ends after the
   * inner wrappers and the steps of the run that they began.
   */
  wrapper<T>(begin: () => Promise<T>, check: (made: T) => void): Promise<T> {
    this.#depth += 1;
    const depth = this.#depth;
    return this.#for(begunBy(begin), {
      strict: true,
      check,
      isHeld: () => this.#depth > depth,
      onEnd: () => void (this.#depth -= 1),
    }) as Promise<T>;
  }

  /** Runs a step of the run. The wrappers around it wait for its end, and for its error. */
  async inner<T>(begin: () => Promise<T>): Promise<T> {
    this.#depth += 1;
    try {
      return await begin();
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
    const strict = !isNotice && this.#run.stage !== 'stopping';
    return this.#for(work, { strict }) as Promise<T | undefined>;
  }

  /** Same as `code`, for a read from a store. The store gets some time after an abort. */
  read<T>(work: PromiseLike<T>): Promise<T> {
    return this.#for(work, { strict: true, isStore: true }) as Promise<T>;
  }

  /**
   * Waits for a write, then calls `done`. If the store hangs after an abort, calls `done` without
   * the write, and rejects with the signal's reason. The write continues.
   */
  async write(work: Promise<unknown> | undefined, done?: () => void): Promise<void> {
    if (!work) return;
    const value = await this.#for(work, { isStore: true, instead: lostWrite });
    const { setup, signal } = this.#run;
    if (value === lostWrite) {
      const end = (): void => void setup.unwritten.delete(work);
      setup.unwritten.add(work);
      work.then(end, end);
    }
    done?.();
    if (value === lostWrite && this.#run.stage !== 'stopping') throw signal.reason;
  }

  /** Returns whether `thrown` comes from the abort of the run, not from a failure. */
  isAbort(thrown: unknown): boolean {
    const { signal } = this.#run;
    return signal.aborted && thrown === signal.reason;
  }

  #for<T>(work: T | PromiseLike<T>, options: WaitOptions<T>): Promise<unknown> {
    const { isStore = false, strict = false, instead, isHeld, check, onEnd } = options;
    const { signal } = this.#run;
    const wasAborted = signal.aborted;
    return new Promise((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const giveUp = (): void => (strict ? reject(signal.reason) : resolve(instead));
      const wait = (): void => {
        timer = setTimeout(
          () => {
            if (isHeld?.()) return wait();
            this.abandoned = true;
            if (instead) this.#hasLostWrite = true;
            end();
            giveUp();
          },
          isStore && !this.#hasLostWrite ? storePatienceMs : 0,
        );
      };
      const end = (): void => {
        clearTimeout(timer);
        if (this.#open.delete(wait)) onEnd?.();
      };
      this.#open.add(wait);
      if (wasAborted) wait();
      Promise.resolve(work).then(
        (value) => {
          end();
          try {
            check?.(value);
            resolve(value);
          } catch (error) {
            reject(error);
          }
        },
        (error: unknown) => {
          end();
          // An error after an abort is a consequence of the abort, not a failure, unless the store or
          // a step of the run has failed.
          const isOfRun = isStore || this.#stepErrors.has(error);
          const isFailure = wasAborted || !signal.aborted || isOfRun;
          if (isFailure) reject(error);
          else giveUp();
        },
      );
    });
  }
}

/** Calls a function that may throw before it returns its promise. */
function begunBy<T>(begin: () => Promise<T>): Promise<T> {
  try {
    return begin();
  } catch (error) {
    return Promise.reject(error);
  }
}
