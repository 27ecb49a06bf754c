import { AgentError } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { either, infinity, natural, nonNegative, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';

/** How many callers of a `Semaphore` may wait. */
export interface SemaphoreOptions {
  /**
   * Maximum number of waiting callers. A further caller fails with `OVERLOADED`. Default: no limit.
   */
  readonly maxWaiting?: number;
}

/** Function that frees a slot in a `Semaphore`. Further calls do nothing. */
export type Release = () => void;

/**
 * Lets a fixed number of agent calls run at the same time, with `concurrencyLimit()`. Callers get a
 * slot in the order of their requests.
 *
 * @example
 * const shared = new Semaphore(10); // for several agents
 * const agent = new ReActAgent({ name: 'a', model, use: [concurrencyLimit(shared)] });
 */
export class Semaphore {
  readonly size: number;
  readonly #maxWaiting: number;
  /** Waiting callers, in the order of their requests. Each function gives its caller a slot. */
  readonly #waiting: Set<() => void> = new Set();
  #takenCount = 0;

  /** Throws `CONFIGURATION` unless `size` is a whole number of 1 or more, or `Infinity`. */
  constructor(size: number, options: SemaphoreOptions = {}) {
    checkOptions('Semaphore', { ...options, size }, semaphoreOptions);
    this.size = size;
    this.#maxWaiting = options.maxWaiting ?? Infinity;
  }

  get free(): number {
    return this.size - this.#takenCount;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until a slot is free and takes it. Rejects at once with `OVERLOADED` if the queue is
   * full. Rejects with the signal's reason when the signal aborts.
   */
  acquire(signal?: AbortSignal): Promise<Release> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.free) {
        this.#takenCount += 1;
        return resolve(this.#release());
      }
      if (this.waiting >= this.#maxWaiting) {
        const message = `All ${this.size} slots are taken, and ${this.waiting} calls wait.`;
        throw new AgentError('OVERLOADED', message, { retryable: true });
      }
      const leave = (): void => {
        this.#waiting.delete(enter);
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        leave();
        reject(signal!.reason);
      };
      const enter = (): void => {
        leave();
        resolve(this.#release());
      };
      this.#waiting.add(enter);
      signal?.addEventListener('abort', onAbort);
    });
  }

  /**
   * Returns the function that frees a slot. A freed slot goes directly to the caller that has
   * waited longest, so that no later caller gets it first.
   */
  #release(): Release {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const [enter] = this.#waiting;
      if (enter) enter();
      else this.#takenCount -= 1;
    };
  }
}

const semaphoreOptions: OptionTable<SemaphoreOptions & { readonly size: number }> = {
  size: either(natural, infinity),
  maxWaiting: optional(nonNegative),
};
