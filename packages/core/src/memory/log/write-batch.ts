import { AgentError } from '../../error/agent-error.ts';
import type { KeyValueStore } from '../key-value-store.ts';

type Entry = readonly [key: string, value: string];

/** A batch and the head that names it, as they are stored. */
export interface BatchWrite {
  readonly entries: readonly Entry[];
  readonly headEntry: Entry;
  /** Text of the head that the write replaces. */
  readonly expected: string | undefined;
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
