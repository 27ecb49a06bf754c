/**
 * Returns the work. If it is a promise that rejects while nobody waits for it, the rejection does
 * not count as unhandled. In Node, an unhandled rejection ends the process.
 */
export function markHandled<T>(work: T): T {
  // Other thenables stay untouched: a query of a database may run once for each `then`.
  if (work instanceof Promise) work.catch(() => {});
  return work;
}
