import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';

export interface SemaphoreOptions {
  /** How many may wait; one more fails with `OVERLOADED`. Default: no limit. */
  readonly queue?: number;
}

/** Gives a place back; a second time it does nothing. */
export type Release = () => void;

/** So many places, handed out in the order they were asked for. */
export class Semaphore {
  readonly size: number;
  readonly #queue: number;
  /** In the order they came; each is given its place by being called. */
  readonly #waiting: Set<() => void> = new Set();
  #taken = 0;

  /** Throws `CONFIGURATION` for a size that is no number from 1 on. */
  constructor(size: number, options: SemaphoreOptions = {}) {
    checkFields('CONFIGURATION', 'Semaphore', { ...options, size }, 'size:count queue:count|?');
    if (size < 1) throw new AgentError('CONFIGURATION', 'Semaphore: size must be at least 1.');
    this.size = Math.floor(size);
    this.#queue = options.queue ?? Infinity;
  }

  get free(): number {
    return this.size - this.#taken;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** A place if one is free, and nobody waits. */
  tryAcquire(): Release | undefined {
    if (!this.free) return undefined;
    this.#taken += 1;
    return this.#release();
  }

  /**
   * A place as soon as it is this caller's turn. Rejects with `OVERLOADED` at once, and with the
   * signal's reason when it is raised.
   */
  acquire(signal?: AbortSignal): Promise<Release> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const release = this.tryAcquire();
      if (release) return resolve(release);
      if (this.waiting >= this.#queue) {
        throw new AgentError(
          'OVERLOADED',
          `All ${this.size} places are taken, and ${this.waiting} calls wait.`,
          { retryable: true },
        );
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

  /** A place goes straight to whoever waits longest: one who comes later finds none free. */
  #release(): Release {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const [enter] = this.#waiting;
      if (enter) enter();
      else this.#taken -= 1;
    };
  }
}
