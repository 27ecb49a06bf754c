/** Gives a lock back. */
export type ReleaseLock = () => void;

/**
 * Takes a Web Lock. Resolves to `undefined` if the browser has no locks or refuses them, or if the
 * signal aborts first. With `ifAvailable`, also if another tab has the lock.
 */
export function takeLock(name: string, options: LockOptions): Promise<ReleaseLock | undefined> {
  const { locks } = navigator as { readonly locks?: LockManager };
  return new Promise((resolve) => {
    if (!locks) return resolve(undefined);
    const hold = (lock: Lock | null): Promise<void> | undefined => {
      if (lock) return new Promise<void>((release) => resolve(release));
      resolve(undefined);
      return undefined;
    };
    return void locks.request(name, options, hold).catch(() => resolve(undefined));
  });
}
