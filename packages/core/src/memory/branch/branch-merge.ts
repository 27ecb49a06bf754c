import { fullLevels } from '../log/place-ref.ts';
import type { LogRecord } from '../log/log-record.ts';
import { levelWidth } from '../log/session-log.ts';
import { recordsOf, standsFor, type Branch } from './branch.ts';

/** Earlier turns that the next batch takes up, so that a reader needs fewer keys. */
export interface Merged {
  /** The pending records are the last of them. */
  readonly records: readonly LogRecord[];
  readonly replaces: readonly string[];
  /** The batches that the merged ones named and that stay where they are. */
  readonly index: readonly string[];
}

export interface MergeOptions {
  readonly compactAfter: number;
  /** The records of the turn that is being written. */
  readonly pending: readonly LogRecord[];
  /** The shortest log that amounts to the session. */
  readonly compacted: () => readonly LogRecord[] | undefined;
}

/** Characters of earlier turns that a turn takes up, at most. Longer ones stay where they are. */
const maxMerged = 1_000_000;

/** Merges all earlier turns, or those of the full lower levels; nothing if they are few. */
export function mergeTurns(before: Branch, options: MergeOptions): Merged | undefined {
  const { compactAfter, pending, compacted } = options;
  const index = fullLevels(before.head.refs, mergeWidth(compactAfter));
  if (index.length === 0 || before.unread.length > 0) return undefined;
  const whole = isLong(before, compactAfter) ? compacted() : undefined;
  if (whole) return { records: whole, replaces: standsFor(before), index: [] };
  // From the first of them on: where writers without echoes have met, others may stand between.
  const [first = ''] = index.toSorted();
  const part = new Map([...before.batches].filter(([ref]) => ref >= first));
  const flushes = recordsOf({ batches: part });
  if (isLongerThan(flushes, maxMerged)) return undefined;
  const named = [...part.values()].flatMap((batch) => batch.index ?? []);
  return {
    records: [...flushes.flat(), ...pending],
    replaces: standsFor({ batches: part }),
    index: named.filter((ref) => !part.has(ref)),
  };
}

/** Batches of one level before they are merged. */
export function mergeWidth(compactAfter: number): number {
  return Math.min(levelWidth, compactAfter || 1);
}

/**
 * Nothing is deleted, so a snapshot waits until the log has doubled. All snapshots together are then
 * no longer than the log.
 */
function isLong({ batches, names }: Branch, compactAfter: number): boolean {
  const [oldest = ''] = [...batches.keys()].toSorted();
  const together = batches.get(oldest)?.replaces?.length ?? 0;
  return names.size - together >= Math.max(compactAfter, together);
}

/** Looks at them one by one: all of them as one text may be more than there is memory for. */
function isLongerThan(flushes: readonly (readonly LogRecord[])[], limit: number): boolean {
  let characters = 0;
  return flushes.some((records) => {
    characters += JSON.stringify(records).length;
    return characters > limit;
  });
}
