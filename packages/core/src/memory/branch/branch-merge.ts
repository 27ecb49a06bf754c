import { fullLevels } from '../log/format/place-ref.ts';
import type { LogRecord } from '../log/format/log-record.ts';
import { levelWidth } from '../log/session-log.ts';
import { inOrder } from '../log/flushes-of.ts';
import { standsFor, type Branch } from './branch.ts';

/** Earlier turns copied into the next batch, so that a reader needs fewer keys. */
export interface Merged {
  /** The earlier turns' records, then the pending ones; or all of them compacted. */
  readonly records: readonly LogRecord[];
  readonly replaces: readonly string[];
  /** The batches that the merged ones named and that stay where they are. */
  readonly index: readonly string[];
}

export interface MergeOptions {
  readonly compactAfter: number;
  /** The records of the turn that is being written. */
  readonly pending: readonly LogRecord[];
  /** Returns the shortest log equivalent to the session. */
  readonly compacted: () => readonly LogRecord[] | undefined;
}

/** Maximum number of characters of earlier turns in one batch. Longer turns stay where they are. */
const maxMerged = 1_000_000;

/**
 * Merges all earlier turns, or those of the full lower levels. Returns `undefined` if they are few,
 * too long or can't all be read.
 */
export function mergeTurns(before: Branch, options: MergeOptions): Merged | undefined {
  const { compactAfter, pending, compacted } = options;
  const index = fullLevels(before.head.refs, mergeWidth(compactAfter));
  if (index.length === 0 || before.unread.length > 0) return undefined;
  const whole = isLong(before, compactAfter) ? compacted() : undefined;
  if (whole) return { records: whole, replaces: standsFor(before), index: [] };
  // Takes every batch from the first one on: writers without echoes may have added others between.
  const [first = ''] = index.toSorted();
  const part = new Map([...before.batches].filter(([ref]) => ref >= first));
  const flushes = inOrder(part).map((ref) => part.get(ref)?.records ?? []);
  if (isLongerThan(flushes, maxMerged)) return undefined;
  const named = [...part.values()].flatMap((batch) => batch.index ?? []);
  return {
    records: [...flushes.flat(), ...pending],
    replaces: standsFor({ batches: part }),
    index: named.filter((ref) => !part.has(ref)),
  };
}

/** Returns how many batches a level holds before they are merged. */
export function mergeWidth(compactAfter: number): number {
  return Math.min(levelWidth, compactAfter || 1);
}

/**
 * Returns whether to write a snapshot. Nothing is deleted, so a snapshot waits until the log has
 * doubled. All snapshots together are then no longer than the log.
 */
function isLong({ batches, names }: Branch, compactAfter: number): boolean {
  const [oldest = ''] = [...batches.keys()].toSorted();
  const together = batches.get(oldest)?.replaces?.length ?? 0;
  return names.size - together >= Math.max(compactAfter, together);
}

/** Measures one flush at a time, because the text of all flushes may not fit in memory. */
function isLongerThan(flushes: readonly (readonly LogRecord[])[], limit: number): boolean {
  let characters = 0;
  return flushes.some((records) => {
    characters += JSON.stringify(records).length;
    return characters > limit;
  });
}
