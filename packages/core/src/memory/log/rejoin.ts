import type { Head } from './format/session-format.ts';

/**
 * Adds this writer's own batches to a head that does not name them. Another writer overwrote this
 * writer's head, or the store shows an older head.
 */
export function rejoin(head: Head, lost: readonly string[], version: number): Head {
  if (lost.length === 0) return head;
  const [first = [], ...levels] = head.refs;
  return {
    ...head,
    version: Math.max(head.version, version),
    refs: [[...first, ...lost], ...levels],
  };
}
