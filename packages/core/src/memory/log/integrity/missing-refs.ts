import type { ReadBatches } from '../batch-reader.ts';
import { isSealed, makeMissingRef, versionOf, type Batch } from '../format/session-format.ts';

/**
 * Returns the names of missing batches, which leave gaps between the versions of the other batches.
 * If the names in a gap are unknown, one new name represents them all. Batches that are missing at
 * the end can't be detected.
 */
export function missingRefs({ batches, unread }: ReadBatches): readonly string[] {
  const refs = [...batches.keys(), ...unread.map(({ ref }) => ref)].toSorted();
  return refs.flatMap((ref, at) => {
    const batch = batches.get(ref);
    const before = refs[at - 1];
    // A snapshot replaces all earlier batches, and an unreadable batch may be a snapshot.
    if (before === undefined && (!batch || batch.replaces)) return [];
    return refsBetween(before === undefined ? 0 : versionOf(before), versionOf(ref), batch);
  });
}

function refsBetween(
  before: number,
  version: number,
  behind: Batch | undefined,
): readonly string[] {
  const missing = version - before - 1;
  if (missing <= 0) return [];
  const prev = behind?.prev ?? '';
  const isNamed = isSealed(prev) && versionOf(prev) === version - 1;
  const named = isNamed ? [prev] : [];
  const last = version - 1 - named.length;
  return last > before ? [makeMissingRef(before + 1, last), ...named] : named;
}
