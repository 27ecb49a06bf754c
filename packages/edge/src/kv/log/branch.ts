import { replacedBy, turnIdOf, type Head, type ReadBatches } from '@isoloop/core/log';

/** A session's log as one head describes it. */
export interface Branch extends ReadBatches {
  readonly head: Head;
  /** Ids of the batches, and of all batches that snapshots replaced. See `batchIdOf`. */
  readonly batchIds: ReadonlySet<string>;
  /** Whether the store does not have some of the batches, or not yet. */
  readonly hasMissing: boolean;
}

/**
 * Returns the id of a batch: the id of the turn that wrote the batch. This id does not depend on
 * the position of the batch in the log. If no turn wrote the batch, returns the ref.
 */
export function batchIdOf(ref: string): string {
  return turnIdOf(ref) ?? ref;
}

/** Returns whether a branch contains the state whose last batch is `tip`. */
export function containsTip(branch: Branch | undefined, tip: string): boolean {
  return branch?.batchIds.has(batchIdOf(tip)) === true;
}

/** Returns the branch that a head describes. */
export function makeBranch(head: Head, { batches, unread }: ReadBatches): Branch {
  return {
    head,
    batches,
    batchIds: new Set(coveredRefs({ batches, unread }).map(batchIdOf)),
    unread,
    hasMissing: unread.some(({ error }) => error.retryable),
  };
}

/** Returns the refs that a batch replaces if it contains copies of all these batches. */
export function coveredRefs({ batches, unread }: ReadBatches): readonly string[] {
  const unreadRefs = unread.map(({ ref }) => ref);
  return [...new Set([...batches.keys(), ...unreadRefs, ...replacedBy(batches)])];
}
