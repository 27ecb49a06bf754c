import { canDigest, digest } from './digest.ts';
import { isSealed, type Batch } from '../format/session-format.ts';
import { joinValue } from '../format/split-value.ts';

/** Facts from outside the batches that `brokenLinks` needs. */
export interface ChainEnd {
  /** Hash of the last batch, from the head. */
  readonly hash: string;
  /** Batches that can't be read. */
  readonly gone: readonly string[];
}

/**
 * Returns the names of damaged batches of format 2. These batches have no checksums, but each batch
 * contains the hash of the previous batch. `texts`: the stored texts of the batches. If two writers
 * wrote at once, or if batches were merged or are missing, the hash may belong to another batch.
 * Damage can't be detected there, and on a page without HTTPS.
 */
export async function brokenLinks(
  texts: ReadonlyMap<string, string>,
  batches: ReadonlyMap<string, Batch>,
  { hash, gone }: ChainEnd,
): Promise<readonly string[]> {
  if (texts.size === 0 || !canDigest()) return [];
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

/**
 * Returns the hash of a batch of format 2. Returns an empty text for later formats, which have
 * checksums, and on a page without HTTPS.
 */
export async function hashOf(ref: string, values: readonly string[]): Promise<string> {
  if (isSealed(ref) || !canDigest()) return '';
  try {
    return await digest(joinValue(values));
  } catch {
    // A part of the batch is damaged.
    return '';
  }
}
