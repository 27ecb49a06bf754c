import type { UnreadBatch } from '../log/session-store.ts';
import type { Flushes } from '../log/log-record.ts';
import type { Tip } from './session-echo.ts';
import { turnOf } from '../log/session-keys.ts';
import { flushesOf, replacedBy, type Batch } from '../log/stored-batch.ts';
import type { Head } from '../log/stored-head.ts';

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

interface NewBatch {
  readonly ref: string;
  readonly batch: Batch;
  readonly head: Head;
  /** Names of the batches whose records it has. */
  readonly replaces: readonly string[];
}

/**
 * Returns the name of a batch: the id of the turn that wrote the batch. This id does not depend on
 * the place of the batch in the log. If no turn wrote the batch, returns the ref.
 */
export function nameOf(ref: string): string {
  return turnOf(ref) ?? ref;
}

/** Returns whether a branch contains the state of this tip. */
export function containsTip(branch: Branch | undefined, { ref }: Tip): boolean {
  return branch?.names.has(nameOf(ref)) === true;
}

/** Returns a branch with one more batch, whose head is `head`. */
export function withBatch(
  branch: Branch | undefined,
  { ref, batch, head, replaces }: NewBatch,
): Branch {
  const batches = new Map([...(branch?.batches ?? []), [ref, batch]]);
  for (const each of replaces) batches.delete(each);
  return {
    head,
    tip: { ref, hash: head.hash, chain: head.chain },
    batches,
    names: new Set([...(branch?.names ?? []), nameOf(ref)]),
    unread: branch?.unread ?? [],
    missing: false,
  };
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
export function coveredRefs({
  batches,
  unread = [],
}: Pick<Branch, 'batches'> & Partial<Pick<Branch, 'unread'>>): readonly string[] {
  const lost = unread.map(({ ref }) => ref);
  return [...new Set([...batches.keys(), ...lost, ...replacedBy(batches)])];
}
