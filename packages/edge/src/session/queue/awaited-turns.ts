import type { LiveTurn } from '../live-turn.ts';

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

/** Promises of the turns that clients wait for, by the number of the turn. */
export class AwaitedTurns {
  readonly #turns: Map<number, Deferred<LiveTurn>> = new Map();

  get size(): number {
    return this.#turns.size;
  }

  /** Returns the promise of a turn that has not begun. */
  wait(id: number): Promise<LiveTurn> {
    const awaitedTurn = this.#turns.get(id) ?? createDeferred<LiveTurn>();
    this.#turns.set(id, awaitedTurn);
    return awaitedTurn.promise;
  }

  resolve(id: number, live: LiveTurn): void {
    this.#turns.get(id)?.resolve(live);
    this.#turns.delete(id);
  }

  reject(id: number, error: unknown): void {
    this.#turns.get(id)?.reject(error);
    this.#turns.delete(id);
  }

  rejectAll(error: unknown): void {
    for (const id of this.#turns.keys()) this.reject(id, error);
  }
}

/**
 * Creates a promise with functions that settle it. The runtime does not report a rejection that
 * nobody handles.
 */
function createDeferred<T>(): Deferred<T> {
  let settle!: Omit<Deferred<T>, 'promise'>;
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }));
  promise.catch(() => {});
  return { promise, ...settle };
}
