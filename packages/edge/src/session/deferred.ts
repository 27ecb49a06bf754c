export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

/** A promise to be settled from outside; nobody has to wait for it. */
export function deferred<T>(): Deferred<T> {
  let settle!: Omit<Deferred<T>, 'promise'>;
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }));
  promise.catch(() => {});
  return { promise, ...settle };
}
