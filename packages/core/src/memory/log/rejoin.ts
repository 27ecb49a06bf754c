import type { Head } from './format/session-format.ts';

/**
 * Adds this writer's lost batches to another writer's head, which overwrote its head or is older.
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
