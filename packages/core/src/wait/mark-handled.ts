/**
 * Returns the work. If it is a promise that rejects while nobody waits for it, the rejection does
 * not count as unhandled. In Node, an unhandled rejection ends the process.
 */
export function markHandled<T>(work: T): T {
  Promise.resolve(work).catch(() => {});
  return work;
}
