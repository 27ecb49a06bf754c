import { AgentError, misconfigured, namedFailure } from '../../error/agent-error.ts';
import { onAbort } from '../abort.ts';
import type { Halt } from '../halt.ts';
import { BoundedStep } from './bounded-step.ts';
import { NestedSteps } from './nested-steps.ts';
import { notSettled, OpenWait, type WaitOptions } from './open-wait.ts';

/** Time that a store gets to finish after an abort, in milliseconds. */
const storePatienceMs = 250;

/**
 * Maximum number of steps that begin inside each other at once, before one of them waits. More
 * would exceed the stack of some engines.
 */
const maxNestedBegins = 50;

/** Maximum number of wrappers and steps of one run that have not ended. */
const maxRunningSteps = 4000;

/**
 * Waits of one run for external code: hooks, middleware and stores. External code may never settle,
 * so each wait ends a short time after an abort. Values and errors that come later are dropped. The
 * name of a method says for what it waits.
 */
export class BoundedWaits {
  readonly #halt: Halt;
  readonly #unwritten: Set<Promise<unknown>>;
  /** Errors of steps of the run. */
  readonly #stepErrors: Set<unknown> = new Set();
  /** Names of the wrappers that threw errors, by error. `undefined`: a step threw it. */
  readonly #throwers: Map<unknown, string | undefined> = new Map();
  /** The wrappers and steps that have not ended. */
  readonly #running: NestedSteps = new NestedSteps();
  /** The open waits, whose timers an abort starts. */
  readonly #open: Set<OpenWait> = new Set();
  /** Number of steps that begin now, each inside the one before. */
  #beginning = 0;
  /** Whether a wait for a write has ended before the write. Stores then get no more time. */
  #hasLostWrite = false;
  /** Whether a wait ended before its code, which may still run. */
  abandoned = false;

  /** `unwritten`: gets the writes that the store has not finished, for the agent's next run. */
  constructor(halt: Halt, unwritten: Set<Promise<unknown>>) {
    this.#halt = halt;
    this.#unwritten = unwritten;
    onAbort(halt.signal, () => this.#open.forEach((wait) => this.#startTimer(wait)));
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
    const inner = new BoundedStep(next, () => {
      this.#halt.fail(misconfigured(`${where} may call next() once.`));
      return this.#halt.signal.reason;
    });
    const wrapper = this.#running.begin();
    const work = startWork(() => begin(inner.begin));
    if (inner.work && work === inner.work) {
      // The run waits for that promise already.
      this.#running.end(wrapper);
      return work;
    }
    inner.watch();
    const outcome = this.#outcomeOf(where, work, inner, check);
    return this.#bound(outcome, { wrapper }) as Promise<Out>;
  }

  /** Returns the value of a wrapper. Fails the run if the wrapper has not waited for its `next`. */
  async #outcomeOf<In, Out>(
    where: string,
    work: Promise<Out>,
    inner: BoundedStep<In, Out>,
    check: (value: Out) => void,
  ): Promise<Out> {
    const error = await errorOf(work);
    inner.close();
    if (error !== undefined) this.noteThrower(where, error);
    if (inner.isRunning) {
      // For example after a `Promise.race`. No code inside may outlive the run.
      const unawaited = misconfigured(`${where} must wait for next().`);
      this.#halt.fail(error === undefined ? unawaited : this.failureOf(error));
      await inner.settled;
      throw this.#halt.signal.reason;
    }
    check(await work);
    return work;
  }

  /**
   * Notes which wrapper threw an error, unless the error comes from a step or a wrapper inside.
   * `undefined`: a step threw it.
   */
  noteThrower(where: string | undefined, error: unknown): void {
    if (this.#stepErrors.has(error) || this.#throwers.has(error)) return;
    this.#throwers.set(error, where);
  }

  /**
   * Returns the error with which an agent call fails. One that is not an `AgentError` becomes
   * `INTERNAL`, with the name of the wrapper that threw it.
   */
  failureOf(thrown: unknown): AgentError {
    const where = this.#throwers.get(thrown);
    return where === undefined ? AgentError.from(thrown) : namedFailure(where, thrown);
  }

  /**
   * Runs a step of the run, unless the run has ended. The wrappers around it wait for its end, and
   * for its error. Fails the run if steps begin inside each other without end, as when a hook sends
   * an event that it gets itself.
   */
  async duringStep<T>(begin: () => Promise<T>): Promise<T> {
    // The wrapper that takes a step too late gets the error, and need not pass it on.
    this.#halt.throwIfOver();
    if (this.#beginning >= maxNestedBegins || this.#running.size >= maxRunningSteps) {
      this.#halt.fail(misconfigured(endless));
      throw this.#halt.signal.reason;
    }
    const step = this.#running.begin();
    try {
      return await this.#beginStep(begin);
    } catch (error) {
      this.#stepErrors.add(error);
      throw error;
    } finally {
      this.#running.end(step);
    }
  }

  #beginStep<T>(begin: () => Promise<T>): Promise<T> {
    this.#beginning += 1;
    try {
      return begin();
    } finally {
      this.#beginning -= 1;
    }
  }

  /**
   * Waits for a hook. `isNotice`: the wait resolves after an abort, because the run does not need
   * the hook's value.
   */
  forHook<T>(work: PromiseLike<T>, isNotice: boolean): Promise<T | undefined> {
    const resolves = isNotice || this.#halt.stage === 'aborting';
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
    const forget = (): void => {
      this.#unwritten.delete(work);
    };
    this.#hasLostWrite = true;
    this.#unwritten.add(work);
    work.then(forget, forget);
    done?.();
    if (this.#halt.stage !== 'aborting') throw this.#halt.signal.reason;
  }

  /** Settles as the work does. After an abort, ends when the time of the work is over. */
  #bound<T>(work: T | PromiseLike<T>, options: WaitOptions = {}): Promise<unknown> {
    const wait = new OpenWait(options, this.#halt);
    this.#open.add(wait);
    if (wait.isLate) this.#startTimer(wait);
    Promise.resolve(work).then(
      (value) => this.#resolve(wait, value),
      (error: unknown) => this.#reject(wait, error),
    );
    return wait.promise;
  }

  #resolve(wait: OpenWait, value: unknown): void {
    this.#close(wait);
    wait.resolve(value);
  }

  /** Rejects a wait with the error of its work. Drops an error that comes from the abort. */
  #reject(wait: OpenWait, error: unknown): void {
    this.#close(wait);
    if (wait.isLate || wait.isStore || this.#isFailure(error)) wait.reject(error);
    else wait.giveUp();
  }

  /** Starts the time that the work of a wait gets after an abort. */
  #startTimer(wait: OpenWait): void {
    const ms = wait.isStore && !this.#hasLostWrite ? storePatienceMs : 0;
    wait.startTimer(ms, () => this.#endTime(wait));
  }

  /** Ends a wait whose time is over. The wait for a wrapper goes on while something runs inside. */
  #endTime(wait: OpenWait): void {
    const { wrapper } = wait;
    if (wrapper && !this.#running.isInnermost(wrapper)) {
      // A timer that starts itself again would block mock timers.
      wrapper.onInnermost = () => this.#startTimer(wait);
      return;
    }
    this.abandoned = true;
    this.#close(wait);
    wait.giveUp();
  }

  #close(wait: OpenWait): void {
    wait.stopTimer();
    this.#open.delete(wait);
    if (wait.wrapper) this.#running.end(wait.wrapper);
  }

  /**
   * Returns whether an error is a failure. After an abort, it is a consequence of the abort, unless
   * a step of the run has failed.
   */
  #isFailure(error: unknown): boolean {
    return !this.#halt.aborted || this.#stepErrors.has(error);
  }
}

const endless =
  'A hook or a wrapper comes to itself again through `run`, without end. A hook must not send an ' +
  "event that it gets itself, and a `'*'` hook gets every event. A wrapper must call `next()` " +
  'instead of `run.inbox.admit()` or `run.model.ask()` for its own step.';

/** Starts work that may also throw instead of returning a promise. */
function startWork<T>(begin: () => Promise<T>): Promise<T> {
  try {
    return begin();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Returns the error of work that rejects. Returns `undefined` for other work. */
async function errorOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error;
  }
}
