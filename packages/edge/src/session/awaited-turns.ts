interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

/**
 * Promises of the turns that clients wait for, by the number of the turn. `T`: a turn that has
 * begun.
 */
export class AwaitedTurns<T> {
  readonly #turns: Map<number, Deferred<T>> = new Map();

  get size(): number {
    return this.#turns.size;
  }

  /** Returns the promise of a turn that has not begun. */
  wait(id: number): Promise<T> {
    const awaitedTurn = this.#turns.get(id) ?? createDeferred<T>();
    this.#turns.set(id, awaitedTurn);
    return awaitedTurn.promise;
  }

  resolve(id: number, live: T): void {
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
