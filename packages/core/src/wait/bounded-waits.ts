import { misconfigured } from '../error/agent-error.ts';
import { onAbort } from './abort.ts';
import type { Haltable } from './halt.ts';
import { markHandled } from './mark-handled.ts';

/** Time that a store gets to finish after an abort, in milliseconds. */
const storePatienceMs = 250;

/** Stands for the value of work that has not settled. */
const notSettled: unique symbol = Symbol();

/** What a run tells its waits. */
interface WaitingRun extends Pick<Haltable, 'signal' | 'aborted' | 'stage' | 'fail'> {
  /** `unwritten`: writes that the store has not finished. The agent's next run waits for them. */
  readonly setup: { readonly unwritten: Set<Promise<unknown>> };
  /** Throws `ABORTED` after the end of the run. */
  alive(): unknown;
}

interface WaitOptions {
  /**
   * Whether the wait is for a store. A store gets some time after an abort, and its errors then
   * still count. Other code gets one task of the event loop.
   */
  readonly isStore?: boolean;
  /**
   * Whether the wait resolves when its time is over, for a store with `notSettled`. Default: it
   * rejects with the signal's reason.
   */
  readonly resolves?: boolean;
  /** The wrapper. The wait goes on while something runs that began later. */
  readonly wrapper?: Running;
}

/** A wrapper or a step that has not ended. */
interface Running {
  /** Starts the timer of the wrapper's wait again. Present while the wait goes on after an abort. */
  waitAgain?: (() => void) | undefined;
}

/**
 * Waits of one run for external code: hooks, middleware and stores. External code may never settle,
 * so each wait ends a short time after an abort. Values and errors that come later are dropped. The
 * name of a method says for what it waits.
 */
export class BoundedWaits {
  readonly #run: WaitingRun;
  /** Errors of steps of the run. */
  readonly #stepErrors: Set<unknown> = new Set();
  /**
   * The wrappers and steps that have not ended, in the order of their begin. What a wrapper began
   * comes after it.
   */
  readonly #running: Set<Running> = new Set();
  /** Functions that start the timer of each open wait, for the abort. */
  readonly #open: Set<() => void> = new Set();
  /** Whether a wait for a write has ended before the write. Stores then get no more time. */
  #hasLostWrite = false;
  /** Whether a wait ended before its code, which may still run. */
  abandoned = false;

  constructor(run: WaitingRun) {
    this.#run = run;
    onAbort(run.signal, () => this.#open.forEach((start) => start()));
  }

  /** Returns the value of `work`. Rejects with the signal's reason if the run is aborted first. */
  forCode<T>(work: T | PromiseLike<T>): Promise<T> {
    return this.#bound(work) as Promise<T>;
  }

  /**
   * Same as `forCode`, for a wrapper around `next`. `begin` calls it with a `next` that works once,
   * and `check` throws if it made a wrong value. If the wrapper ends before its `next`, or calls it
   * twice, the agent call fails. Such an error names the wrapper by `where`. After an abort, the
   * wrapper has time until all that it began has ended: its `next`, and steps of the run.
   */
  forWrapper<In, Out>(
    where: string,
    next: (input: In) => Promise<Out>,
    begin: (next: (input: In) => Promise<Out>) => Promise<Out>,
    check: (value: Out) => void,
  ): Promise<Out> {
    const { fail, signal } = this.#run;
    let inner: Promise<Out> | undefined;
    let hasBegun = false;
    const nextOnce = (input: In): Promise<Out> => {
      if (inner) {
        fail(misconfigured(`${where} may call next() once.`));
        return markHandled(Promise.reject(signal.reason));
      }
      inner = next(input);
      if (hasBegun) markHandled(inner);
      return inner;
    };
    const wrapper: Running = {};
    this.#running.add(wrapper);
    let work: Promise<Out>;
    try {
      work = begin(nextOnce);
    } catch (error) {
      work = Promise.reject(error);
    }
    if (inner && work === inner) {
      // The run waits for that promise already.
      this.#end(wrapper);
      return work;
    }
    // The wrapper may do other work before it waits for its `next`.
    if (inner) markHandled(inner);
    hasBegun = true;
    const afterNext = async (): Promise<Out> => {
      let error: unknown;
      try {
        await work;
      } catch (thrown) {
        error = thrown;
      }
      // A `next` that comes later is refused, too.
      inner ??= work;
      const winner = await Promise.race([inner, notSettled]).catch(() => {});
      if (winner === notSettled) {
        // For example after a `Promise.race`. No code inside may outlive the run.
        fail(error ?? misconfigured(`${where} must wait for next().`));
        await inner!.catch(() => {});
        throw signal.reason;
      }
      check(await work);
      return work;
    };
    return this.#bound(afterNext(), { wrapper }) as Promise<Out>;
  }

  /**
   * Runs a step of the run, unless the run has ended. The wrappers around it wait for its end, and
   * for its error.
   */
  async duringStep<T>(begin: () => Promise<T>): Promise<T> {
    // The wrapper that takes a step too late gets the error, and need not pass it on.
    this.#run.alive();
    const step: Running = {};
    this.#running.add(step);
    try {
      return await begin();
    } catch (error) {
      this.#stepErrors.add(error);
      throw error;
    } finally {
      this.#end(step);
    }
  }

  /**
   * Waits for a hook. `isNotice`: the wait resolves after an abort, because the run does not need
   * the hook's value.
   */
  forHook<T>(work: PromiseLike<T>, isNotice: boolean): Promise<T | undefined> {
    const resolves = isNotice || this.#run.stage === 'aborting';
    return this.#bound(work, { resolves }) as Promise<T | undefined>;
  }

  /** Same as `forCode`, for a read from a store. The store gets some time after an abort. */
  forRead<T>(work: PromiseLike<T>): Promise<T> {
    return this.#bound(work, { isStore: true }) as Promise<T>;
  }

  /**
   * Waits for a write, then calls `done`. If the store hangs after an abort, calls `done` without
   * the write, and rejects with the signal's reason. The write continues.
   */
  async forWrite(work: Promise<unknown> | undefined, done?: () => void): Promise<void> {
    if (!work) return;
    const value = await this.#bound(work, { isStore: true, resolves: true });
    if (value !== notSettled) return done?.();
    const { setup, signal } = this.#run;
    const end = (): void => void setup.unwritten.delete(work);
    this.#hasLostWrite = true;
    setup.unwritten.add(work);
    work.then(end, end);
    done?.();
    if (this.#run.stage !== 'aborting') throw signal.reason;
  }

  /** Returns whether `thrown` comes from the abort of the run, not from a failure. */
  isAbort(thrown: unknown): boolean {
    const { signal } = this.#run;
    return signal.aborted && thrown === signal.reason;
  }

  /** The wrapper or step that began last. */
  get #innermost(): Running | undefined {
    return [...this.#running].at(-1);
  }

  /** Ends a wrapper or step. After an abort, the wrapper around it gets time to end, too. */
  #end(running: Running): void {
    this.#running.delete(running);
    if (!this.#run.aborted) return;
    const outer = this.#innermost;
    const waitAgain = outer?.waitAgain;
    if (!waitAgain) return;
    outer.waitAgain = undefined;
    waitAgain();
  }

  #bound<T>(
    work: T | PromiseLike<T>,
    { isStore, resolves, wrapper }: WaitOptions = {},
  ): Promise<unknown> {
    const { signal, aborted: wasAborted } = this.#run;
    return new Promise((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const giveUp = (): void =>
        resolves ? resolve(isStore && notSettled) : reject(signal.reason);
      const wait = (): void => {
        timer = setTimeout(
          () => {
            if (wrapper && wrapper !== this.#innermost) {
              // A timer that starts itself again would block mock timers.
              wrapper.waitAgain = wait;
              return;
            }
            this.abandoned = true;
            end();
            giveUp();
          },
          isStore && !this.#hasLostWrite ? storePatienceMs : 0,
        );
      };
      const end = (): void => {
        clearTimeout(timer);
        this.#open.delete(wait);
        if (wrapper) this.#end(wrapper);
      };
      this.#open.add(wait);
      if (wasAborted) wait();
      Promise.resolve(work).then(
        (value) => {
          end();
          resolve(value);
        },
        (error: unknown) => {
          end();
          // An error after an abort is a consequence of the abort, not a failure, unless the store
          // or a step of the run has failed.
          if (wasAborted || !signal.aborted || isStore || this.#stepErrors.has(error))
            reject(error);
          else giveUp();
        },
      );
    });
  }
}
