import type { Flushes } from './format/log-record.ts';
import type { Batch } from './format/session-format.ts';

/**
 * Returns the records in the order in which they were written. Marks the places of lost batches.
 */
export function flushesOf(batches: ReadonlyMap<string, Batch>, lost: readonly string[]): Flushes {
  return inOrder(batches, lost).map((ref) => batches.get(ref)?.records ?? [{ kind: 'lost' }]);
}

/**
 * Returns the refs in the order in which the batches were written, without batches that a snapshot
 * replaced.
 */
export function inOrder(
  batches: ReadonlyMap<string, Batch>,
  lost: readonly string[] = [],
): readonly string[] {
  const replaced = replacedBy(batches);
  return [...batches.keys(), ...lost].filter((ref) => !replaced.has(ref)).toSorted();
}

/** Returns the refs of all batches that snapshots replaced. */
export function replacedBy(batches: ReadonlyMap<string, Batch>): ReadonlySet<string> {
  return new Set([...batches.values()].flatMap(({ replaces }) => replaces ?? []));
}
