import type { UnreadBatch } from '../log/batch-reader.ts';
import type { Flushes } from '../log/format/log-record.ts';
import type { Tip } from './session-echo.ts';
import { turnOf, type Batch, type Head } from '../log/format/session-format.ts';
import { flushesOf, replacedBy } from '../log/flushes-of.ts';

/** A session's log as one head describes it. */
export interface Branch {
  readonly head: Head;
  readonly tip: Tip;
  readonly batches: ReadonlyMap<string, Batch>;
  /** Names of the batches, and of all batches that snapshots replaced. See `nameOf`. */
  readonly names: ReadonlySet<string>;
  /** Batches that can't be read. */
  readonly unread: readonly UnreadBatch[];
  /** Whether the store does not have some of the batches, or not yet. */
  readonly missing: boolean;
}

/**
 * Returns the name of a batch: the id of the turn that wrote the batch. This id does not depend on
 * the place of the batch in the log. If no turn wrote the batch, returns the ref.
 */
export function nameOf(ref: string): string {
  return turnOf(ref) ?? ref;
}

/** Returns whether a branch contains the state of this tip. */
export function has(branch: Branch | undefined, { ref }: Tip): boolean {
  return branch?.names.has(nameOf(ref)) === true;
}

/**
 * Returns the records in the order in which they were written. Marks the places of lost records.
 */
export function recordsOf({ batches, unread }: Pick<Branch, 'batches' | 'unread'>): Flushes {
  return flushesOf(
    batches,
    unread.map(({ ref }) => ref),
  );
}

/** Returns the refs that a batch replaces if it contains copies of all these batches. */
export function standsFor({
  batches,
  unread = [],
}: Pick<Branch, 'batches'> & Partial<Pick<Branch, 'unread'>>): readonly string[] {
  const lost = unread.map(({ ref }) => ref);
  return [...new Set([...batches.keys(), ...lost, ...replacedBy(batches)])];
}
