import type { Halt } from '../halt.ts';
import type { NestedStep } from './nested-steps.ts';

/** Stands for the value of a write that has not settled. */
export const notSettled: unique symbol = Symbol();

export interface WaitOptions {
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
  readonly wrapper?: NestedStep;
}

type AbortState = Pick<Halt, 'aborted' | 'signal'>;

/** A wait of a run whose work has not settled. */
export class OpenWait {
  /** Settles as the work does, or when the wait is given up. */
  readonly promise: Promise<unknown>;
  readonly isStore: boolean;
  readonly wrapper: NestedStep | undefined;
  /** Whether the wait began after the abort of the run. */
  readonly isLate: boolean;
  readonly #resolvesWhenOver: boolean;
  readonly #halt: AbortState;
  #resolve!: (value: unknown) => void;
  #reject!: (error: unknown) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor({ isStore = false, resolves = false, wrapper }: WaitOptions, halt: AbortState) {
    this.isStore = isStore;
    this.wrapper = wrapper;
    this.isLate = halt.aborted;
    this.#resolvesWhenOver = resolves;
    this.#halt = halt;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  resolve(value: unknown): void {
    this.#resolve(value);
  }

  reject(error: unknown): void {
    this.#reject(error);
  }

  /** Ends the wait without the value of its work. */
  giveUp(): void {
    if (this.#resolvesWhenOver) this.#resolve(this.isStore ? notSettled : undefined);
    else this.#reject(this.#halt.signal.reason);
  }

  /** Starts the time that the work gets after an abort. */
  startTimer(ms: number, onOver: () => void): void {
    this.#timer = setTimeout(onOver, ms);
  }

  stopTimer(): void {
    clearTimeout(this.#timer);
  }
}
