import { AgentError } from '../../error/agent-error.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import type { Flushes } from './log-record.ts';
import { versionOf, type SessionKeys } from './session-keys.ts';
import { parseBatch, type Batch } from './stored-batch.ts';

/** A batch of a log that could not be read, with the reason. */
export interface UnreadBatch {
  readonly ref: string;
  /**
   * Retryable if the batch is not in the store. Otherwise the batch is damaged or has another
   * format.
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
 * Reads the batches in `refs` and all batches that they name, level by level. Checks each batch.
 * Does not read known batches again.
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
      const batch = held.get(ref) ?? parse(keys, ref, values);
      if ('error' in batch) unread.push(batch);
      else {
        // An estimate: usually only the last value of a batch is shorter than the others.
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
 * Finds batches in the store's key list that no readable batch names, and adds them to `batches`.
 * Their names were in an unreadable batch or head. Several batches have the same version if a write
 * failed halfway. Of these, adds only the batches in `tips` and the batches that a later batch
 * names. Returns the unreadable batches.
 */
export async function findBatches(
  store: KeyValueStore,
  keys: SessionKeys,
  tips: readonly string[],
  { batches, unread }: ReadBatches,
): Promise<readonly UnreadBatch[]> {
  const versions = new Set([...batches.keys(), ...unread.map(({ ref }) => ref)].map(versionOf));
  const snapshots = [...batches].flatMap(([ref, { replaces }]) => (replaces ? [ref] : []));
  const snapshot = snapshots.toSorted().at(-1) ?? '';
  const refs = keys
    .refs(await store.keys(keys.prefix))
    .filter((ref) => !versions.has(versionOf(ref)) && ref > snapshot);
  const found = await readValues(store, keys, refs);
  const names = new Set([...tips, ...[...batches.values()].map(({ prev }) => prev)]);
  const damages: UnreadBatch[] = [];
  // The newest batch comes first, because each batch contains the name of the previous batch.
  for (const ref of refs.toSorted().toReversed()) {
    const values = found.get(ref);
    const isOnly = refs.filter((other) => versionOf(other) === versionOf(ref)).length === 1;
    if (!isOnly && !names.has(ref)) continue;
    const batch = parse(keys, ref, values);
    if ('error' in batch) damages.push(batch);
    else {
      batches.set(ref, batch);
      names.add(batch.prev);
      if (batch.replaces) break;
    }
  }
  return damages;
}

/** Reads the values of each batch. Leaves out batches that are not complete in the store. */
export async function readValues(
  store: KeyValueStore,
  keys: SessionKeys,
  refs: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const whole = new Map<string, readonly string[]>();
  if (refs.length === 0) return whole;
  const names = refs.map((ref) => keys.batch(ref));
  const values = await store.getMany(names.flat());
  for (const [index, ref] of refs.entries()) {
    const own = names[index]!;
    const found = own.flatMap((name) => values.get(name) ?? []);
    if (found.length === own.length) whole.set(ref, found);
  }
  return whole;
}

function parse(
  keys: SessionKeys,
  ref: string,
  values: readonly string[] | undefined,
): Batch | UnreadBatch {
  if (!values) {
    const [key = ''] = keys.batch(ref);
    const text = `The session's record ${key} is not in the store`;
    const details = { key, ref };
    return { ref, error: new AgentError('STORAGE_FAILED', text, { retryable: true, details }) };
  }
  try {
    return parseBatch(keys, ref, values);
  } catch (thrown) {
    const { message, cause, details } = AgentError.from(thrown);
    return {
      ref,
      error: new AgentError('STORAGE_FAILED', message, { cause, details: { ...details, ref } }),
    };
  }
}

/**
 * Leaves out missing batches that may have expired, because they are older than the oldest batch
 * found. Any other missing batch is lost or not in the store yet.
 */
function unexpired(
  unread: readonly UnreadBatch[],
  found: ReadonlyMap<string, Batch>,
): readonly UnreadBatch[] {
  const [oldest = ''] = [...found.keys()].toSorted();
  return unread.filter(({ ref, error }) => !error.retryable || ref >= oldest);
}

/**
 * Returns the records in the order in which they were written. Marks the places of lost batches.
 */
export function flushesOf(batches: ReadonlyMap<string, Batch>, lost: readonly string[]): Flushes {
  return inOrder(batches, lost).map((ref) => batches.get(ref)?.records ?? [{ kind: 'lost' }]);
}

/**
 * Returns the refs in the order in which the batches were written, without batches that a snapshot
 * replaced.
 */
export function inOrder(
  batches: ReadonlyMap<string, Batch>,
  lost: readonly string[] = [],
): readonly string[] {
  const replaced = replacedBy(batches);
  return [...batches.keys(), ...lost].filter((ref) => !replaced.has(ref)).toSorted();
}

/** Returns the refs of all batches that snapshots replaced. */
export function replacedBy(batches: ReadonlyMap<string, Batch>): ReadonlySet<string> {
  return new Set([...batches.values()].flatMap(({ replaces }) => replaces ?? []));
}
