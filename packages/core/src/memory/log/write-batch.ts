import { AgentError } from '../../error/agent-error.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import { formatVersion, suffixOf } from './format/session-format.ts';
import type { Batch, Head, SessionKeys } from './format/session-format.ts';
import { splitValue } from './format/split-value.ts';
import { seal } from './format/seal.ts';

export type Entry = readonly [key: string, value: string];

/** A batch and the head that names it, as they are stored. */
export interface BatchWrite {
  readonly entries: readonly Entry[];
  readonly headEntry: Entry;
  /** Text of the head that the write replaces. */
  readonly expected: string | undefined;
}

/** The writer of a head, and what it knows. */
export interface Writing {
  readonly writer: string;
  readonly title: string | undefined;
  readonly generateId: () => string;
  readonly now: () => number;
}

/** Returns the head after `before`. Its refs are still those of `before`. */
export function nextHead(
  before: Head | undefined,
  { writer, title, generateId, now }: Writing,
): Omit<Head, 'hash'> {
  const at = now();
  return {
    v: formatVersion,
    version: (before?.version ?? 0) + 1,
    writer,
    chain: before?.chain ?? generateId(),
    refs: before?.refs ?? [],
    createdAt: before?.createdAt || at,
    // `updatedAt` must not decrease when the clock moves back.
    updatedAt: Math.max(at, before?.updatedAt ?? 0),
    ...(title !== undefined && { title }),
  };
}

/** A batch as it is stored. */
export interface SealedBatch {
  readonly ref: string;
  /** The batch as JSON with its checksum. */
  readonly text: string;
  /** The batch's values, the first one first. */
  readonly entries: readonly Entry[];
}

/** Returns the stored form of a batch. `name`: its ref without the suffix. */
export function sealBatch(
  keys: SessionKeys,
  name: string,
  batch: Batch,
  maxValueBytes: number,
): SealedBatch {
  const { text, sum } = seal(batch, keys.place(name));
  const values = splitValue(text, maxValueBytes);
  const ref = name + suffixOf(sum, values.length);
  const entries = keys.batch(ref).map((key, part): Entry => [key, values[part] ?? '']);
  return { ref, text, entries };
}

/**
 * Writes a batch, then the head. Returns false if the store refuses the write. Rejects with
 * `STORAGE_FAILED` if the store has acknowledged the first head of a session and does not have it.
 */
export async function writeBatch(
  store: KeyValueStore,
  { entries, headEntry, expected }: BatchWrite,
): Promise<boolean> {
  const [key, text] = headEntry;
  if (!store.compareAndSet) {
    await store.setMany([...entries, headEntry]);
    return true;
  }
  if (store.setManyIf) {
    if (!(await store.setManyIf(key, expected, [...entries, headEntry]))) return false;
  } else {
    await store.setMany(entries);
    if (!(await store.compareAndSet(key, expected, text))) return false;
  }
  // Later, a first head that was never written looks like a session that was cleared.
  if (expected === undefined && (await store.get(key)) === undefined) throw lostWrite(key);
  return true;
}

/** Returns the error for a write that the store acknowledged but does not have. */
export function lostWrite(key: string): AgentError {
  const text = `The store acknowledged a write of ${key} and does not have it.`;
  return new AgentError('STORAGE_FAILED', text, { retryable: true });
}
