import { digest } from './digest.ts';
import { isSealed, type Batch } from '../format/session-format.ts';
import { joinValue } from '../format/split-value.ts';

/** What is known about the batches that are not in a chain. */
export interface ChainEnd {
  /** Hash in the head: that of the last batch. */
  readonly hash: string;
  /** Batches that can't be read. */
  readonly gone: readonly string[];
}

/**
 * Returns the damaged ones among batches of format 2, which have no checksums, by their texts. The
 * batch behind each one holds its hash. After two writers wrote at once, or where batches are
 * merged or missing, that hash may stand for another batch; then this can't tell.
 */
export async function brokenLinks(
  texts: ReadonlyMap<string, string>,
  batches: ReadonlyMap<string, Batch>,
  { hash, gone }: ChainEnd,
): Promise<readonly string[]> {
  if (texts.size === 0) return [];
  const hashes = new Map(
    await Promise.all([...texts].map(async ([ref, text]) => [ref, await digest(text)] as const)),
  );
  const known = new Set(hashes.values());
  const refs = [...batches.keys()].toSorted();
  return refs.filter((ref, at) => {
    if (!hashes.has(ref)) return false;
    const next = refs[at + 1];
    const behind = next === undefined ? undefined : batches.get(next);
    const expected = behind ? behind.prev : hash;
    const isGap = gone.some((other) => other > ref && (next === undefined || other < next));
    return expected !== '' && !behind?.replaces && !isGap && !known.has(expected);
  });
}

/** Returns the hash of a batch of format 2; an empty text for a later one, which has a checksum. */
export async function hashOf(ref: string, values: readonly string[]): Promise<string> {
  if (isSealed(ref)) return '';
  try {
    return await digest(joinValue(values));
  } catch {
    // A part of the batch is damaged.
    return '';
  }
}
