import type { UnreadBatch } from '../log/batch-reader.ts';
import type { Flushes } from '../log/format/log-record.ts';
import type { Tip } from './session-echo.ts';
import { turnOf, type Batch, type Head } from '../log/format/session-format.ts';
import { flushesOf, replacedBy } from '../log/flushes-of.ts';

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

/** Returns the records in the order they were written, with the places of lost ones. */
export function recordsOf({ batches, unread }: Pick<Branch, 'batches' | 'unread'>): Flushes {
  return flushesOf(
    batches,
    unread.map(({ ref }) => ref),
  );
}

/** Returns the refs that one batch replaces when it merges these batches. */
export function standsFor({
  batches,
  unread = [],
}: Pick<Branch, 'batches'> & Partial<Pick<Branch, 'unread'>>): readonly string[] {
  const lost = unread.map(({ ref }) => ref);
  return [...new Set([...batches.keys(), ...lost, ...replacedBy(batches)])];
}
