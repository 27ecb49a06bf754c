import { AgentError } from '../../error/agent-error.ts';
import { digest } from './digest.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import { parseBatch, versionOf, type Batch, type SessionKeys } from './session-format.ts';
import { joinValue } from './split-value.ts';

/** A batch of a log that could not be read, with the reason. */
export interface UnreadBatch {
  readonly ref: string;
  /**
   * Retryable if the batch is not in the store. Otherwise the batch is damaged or of a newer
   * version of the library.
   */
  readonly error: AgentError;
}

export interface ReadBatches {
  readonly batches: Map<string, Batch>;
  readonly unread: readonly UnreadBatch[];
}

/** Batches that were read before and are not read again. */
export interface KnownBatches {
  get(ref: string): Batch | undefined;
  /** Receives each batch that has just been read. */
  add?(ref: string, batch: Batch, characters: number): void;
}

/**
 * Reads these batches and all that they name, level by level. Does not read known batches again.
 */
export async function readBatches(
  store: KeyValueStore,
  keys: SessionKeys,
  refs: readonly string[],
  known: KnownBatches,
): Promise<ReadBatches> {
  const batches = new Map<string, Batch>();
  const unread: UnreadBatch[] = [];
  for (let wanted = refs; wanted.length > 0;) {
    const held = new Map(wanted.map((ref) => [ref, known.get(ref)]));
    const found = await readValues(
      store,
      keys,
      wanted.filter((ref) => !held.get(ref)),
    );
    const named: string[] = [];
    for (const ref of wanted) {
      const values = found.get(ref);
      const batch = held.get(ref) ?? parse(ref, values);
      if ('error' in batch) unread.push(batch);
      else {
        // An estimate: of several values, usually only the last one is shorter.
        if (values) known.add?.(ref, batch, values[0]!.length * values.length);
        batches.set(ref, batch);
        named.push(...(batch.index ?? []));
      }
    }
    wanted = named.filter((ref) => !batches.has(ref));
  }
  return { batches, unread: store.features.expires ? unexpired(unread, batches) : unread };
}

/**
 * Adds the batches that only an unreadable batch named. Several batches share a version if a write
 * failed halfway. Then adds the one that another batch, or the head, continues.
 */
export async function findBatches(
  store: KeyValueStore,
  keys: SessionKeys,
  hash: string,
  { batches, unread }: ReadBatches,
): Promise<void> {
  const versions = new Set([...batches.keys(), ...unread.map(({ ref }) => ref)].map(versionOf));
  const refs = keys
    .refs(await store.keys(keys.prefix))
    .filter((ref) => !versions.has(versionOf(ref)));
  const found = await readValues(store, keys, refs);
  const hashes = new Set([hash, ...[...batches.values()].map(({ prev }) => prev)]);
  // Newest first: each batch holds the hash of the one that it continues.
  for (const [ref, values] of [...found].toSorted(([a], [b]) => (a < b ? 1 : -1))) {
    const batch = parse(ref, values);
    const isOnly = refs.filter((other) => versionOf(other) === versionOf(ref)).length === 1;
    if ('error' in batch || !(isOnly || hashes.has(await digest(joinValue(values))))) continue;
    batches.set(ref, batch);
    hashes.add(batch.prev);
  }
}

/** Reads the values of each batch; leaves out batches that are not complete in the store. */
async function readValues(
  store: KeyValueStore,
  keys: SessionKeys,
  refs: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const whole = new Map<string, readonly string[]>();
  if (refs.length === 0) return whole;
  const values = await store.getMany(refs.flatMap((ref) => keys.batch(ref)));
  for (const ref of refs) {
    const names = keys.batch(ref);
    const found = names.flatMap((name) => values.get(name) ?? []);
    if (found.length === names.length) whole.set(ref, found);
  }
  return whole;
}

function parse(ref: string, values: readonly string[] | undefined): Batch | UnreadBatch {
  if (!values)
    return {
      ref,
      error: new AgentError('STORAGE_FAILED', "One of the session's records is not in the store", {
        retryable: true,
        details: { ref },
      }),
    };
  try {
    return parseBatch(values);
  } catch (thrown) {
    const { message, cause, details } = AgentError.from(thrown);
    return {
      ref,
      error: new AgentError('STORAGE_FAILED', message, { cause, details: { ...details, ref } }),
    };
  }
}

/**
 * Leaves out missing batches that may have expired: those older than the oldest one found. Any
 * other missing batch is lost, or not there yet.
 */
function unexpired(
  unread: readonly UnreadBatch[],
  found: ReadonlyMap<string, Batch>,
): readonly UnreadBatch[] {
  const [oldest = ''] = [...found.keys()].toSorted();
  return unread.filter(({ ref, error }) => !error.retryable || ref >= oldest);
}
