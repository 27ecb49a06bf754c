import { markHandled } from '../mark-handled.ts';

/** The step inside a wrapper. The wrapper may begin it once, and only before it ends itself. */
export class BoundedStep<In, Out> {
  readonly #step: (input: In) => Promise<Out>;
  readonly #refusal: () => unknown;
  #isClosed = false;
  #isWatched = false;
  /** What the step returned. Absent before its begin. */
  work: Promise<Out> | undefined;
  /** Whether the step has begun and has not settled. Known only after `watch`. */
  isRunning = false;
  /** Resolves when the step has settled, also with an error. Known only after `watch`. */
  settled: Promise<void> | undefined;

  /** `refusal`: called if the step must not begin. Returns the error for the wrapper. */
  constructor(step: (input: In) => Promise<Out>, refusal: () => unknown) {
    this.#step = step;
    this.#refusal = refusal;
  }

  /** The wrapper's `next`. */
  readonly begin = (input: In): Promise<Out> => {
    if (this.#isClosed) return markHandled(Promise.reject(this.#refusal()));
    this.close();
    this.work = this.#step(input);
    if (this.#isWatched) this.#watch(this.work);
    return this.work;
  };

  /** Refuses a later begin. */
  close(): void {
    this.#isClosed = true;
  }

  /**
   * Watches the step, which has begun or may begin later. A wrapper that returns the promise of its
   * step needs no watch, and costs no further promise.
   */
  watch(): void {
    this.#isWatched = true;
    if (this.work) this.#watch(this.work);
  }

  #watch(work: Promise<Out>): void {
    const end = (): void => {
      this.isRunning = false;
    };
    this.isRunning = true;
    // Handles a rejection, too: the wrapper may do other work before it waits, or not wait at all.
    this.settled = work.then(end, end);
  }
}
