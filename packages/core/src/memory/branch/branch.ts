import type { UnreadBatch } from '../log/batch-reader.ts';
import type { Flushes } from '../log/log-record.ts';
import type { Tip } from './session-echo.ts';
import { turnOf, type Batch, type Head } from '../log/session-format.ts';
import { replacedBy } from '../log/session-log.ts';

/** A session's log as one of its heads describes it. */
export interface Branch {
  readonly head: Head;
  readonly tip: Tip;
  readonly batches: ReadonlyMap<string, Batch>;
  /** Names of its batches and of all that its snapshots replaced, see `nameOf`. */
  readonly names: ReadonlySet<string>;
  /** Batches that can't be read. `missing`: some of them are not in the store, or not yet. */
  readonly unread: readonly UnreadBatch[];
  readonly missing: boolean;
}

/**
 * Returns the name of a batch: its turn's id, which stays the same wherever the batch is in the
 * log. Without a turn, the name is the ref.
 */
export function nameOf(ref: string): string {
  return turnOf(ref) ?? ref;
}

/** Returns whether a branch contains this state. */
export function has(branch: Branch | undefined, { ref }: Tip): boolean {
  return branch?.names.has(nameOf(ref)) === true;
}

/** Returns the records in the order they were written, without those that a snapshot replaced. */
export function recordsOf({ batches }: Pick<Branch, 'batches'>): Flushes {
  const replaced = replacedBy(batches);
  const left = [...batches]
    .filter(([ref]) => !replaced.has(ref))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return left.map(([, { records }]) => records);
}

/** Returns the refs that one batch replaces when it merges these batches. */
export function standsFor({ batches }: Pick<Branch, 'batches'>): readonly string[] {
  return [...new Set([...batches.keys(), ...replacedBy(batches)])];
}
