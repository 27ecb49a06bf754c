import {
  addToLevels,
  formatVersion,
  fullLevels,
  inOrder,
  levelWidth,
  makeRef,
  nextHead,
  seal,
  type Batch,
  type Head,
  type HeadWriter,
  type LogRecord,
  type SessionFold,
  type SessionStore,
} from '@isoloop/core/log';
import type { Entry } from '@isoloop/core/memory';
import { coveredRefs, makeBranch, type Branch } from './branch.ts';

/** The write of one turn, and the branch after it. */
interface TurnWrite {
  readonly ref: string;
  /** The batch as JSON with its checksum. */
  readonly text: string;
  /**
   * Values of the batch, the first one last: a reader that finds the first value expects all other
   * values.
   */
  readonly values: readonly Entry[];
  readonly head: Entry;
  readonly branch: Branch;
}

export function makeTurnWrite(
  store: SessionStore,
  previousBranch: Branch | undefined,
  { records, index, replaces }: MergedTurns,
  { id, ...headWriter }: HeadWriter & { readonly id: string },
): TurnWrite {
  const batchHead = nextHead(previousBranch?.head, headWriter);
  const batch: Batch = {
    v: formatVersion,
    prev: previousBranch?.head.last ?? '',
    records,
    ...(index.length > 0 && { index }),
    ...(replaces.length > 0 && { replaces }),
    head: batchHead,
  };
  const { ref, text, entries } = store.seal(makeRef(batchHead.version, id, '.'), batch);
  const refs = addToLevels(batchHead.refs, replaces.length > 0 ? replaces : index, ref);
  const head: Head = { ...batchHead, refs, last: ref };
  const key = store.keys.head;
  const batches = new Map([...(previousBranch?.batches ?? []), [ref, batch]]);
  for (const replaced of replaces) batches.delete(replaced);
  return {
    ref,
    text,
    values: entries.toReversed(),
    head: [key, seal(head, key).text],
    branch: makeBranch(head, { batches, unread: previousBranch?.unread ?? [] }),
  };
}

/** Copies of earlier turns for the next batch, so that a reader needs fewer keys. */
interface MergedTurns {
  /**
   * The records of the earlier turns, then the pending records. In a snapshot, all these records
   * are compacted.
   */
  readonly records: readonly LogRecord[];
  /** Names of the batches whose records are copied. */
  readonly replaces: readonly string[];
  /** Names of batches that the copied batches named and that are not copied. */
  readonly index: readonly string[];
}

/** Maximum number of characters of earlier turns in one batch. Longer turns are not copied. */
const maxMergedLength = 1_000_000;

/**
 * Returns the records of the turn that is being written. If levels of the head are full (see
 * `fullLevels`), copies of earlier turns come first: of the turns in these levels, or of all turns.
 * Copies nothing if the turns are too long, or if a batch can't be read.
 */
export function mergeTurns(
  previousBranch: Branch | undefined,
  newRecords: readonly LogRecord[],
  compactAfter: number,
  fold: SessionFold | undefined,
): MergedTurns {
  const width = Math.min(levelWidth, compactAfter || 1);
  const index = previousBranch ? fullLevels(previousBranch.head.refs, width) : [];
  const plain: MergedTurns = { records: newRecords, replaces: [], index };
  if (!previousBranch || index.length === 0 || previousBranch.unread.length > 0) return plain;
  if (fold && isLong(previousBranch, compactAfter))
    return { records: fold.records(), replaces: coveredRefs(previousBranch), index: [] };
  // Includes every batch from the first one on, because writers without echoes may have added
  // batches in between.
  const [firstRef = ''] = index.toSorted();
  const mergedBatches = new Map([...previousBranch.batches].filter(([ref]) => ref >= firstRef));
  const flushes = inOrder(mergedBatches).map((ref) => mergedBatches.get(ref)?.records ?? []);
  if (isLongerThan(flushes, maxMergedLength)) return plain;
  const indexRefs = [...mergedBatches.values()].flatMap((batch) => batch.index ?? []);
  return {
    records: [...flushes.flat(), ...newRecords],
    replaces: coveredRefs({ batches: mergedBatches, unread: [] }),
    index: indexRefs.filter((ref) => !mergedBatches.has(ref)),
  };
}

/**
 * Returns whether to write a snapshot, which is a copy of the whole log. A snapshot deletes
 * nothing, so it waits until the log has doubled. All snapshots together are then no longer than
 * the log.
 */
function isLong({ batches, batchIds }: Branch, compactAfter: number): boolean {
  const [oldest = ''] = [...batches.keys()].toSorted();
  const replacedCount = batches.get(oldest)?.replaces?.length ?? 0;
  return batchIds.size - replacedCount >= Math.max(compactAfter, replacedCount);
}

/** Measures one flush at a time, because the text of all flushes may not fit in memory. */
function isLongerThan(flushes: readonly (readonly LogRecord[])[], limit: number): boolean {
  let characterCount = 0;
  return flushes.some((records) => {
    characterCount += JSON.stringify(records).length;
    return characterCount > limit;
  });
}
