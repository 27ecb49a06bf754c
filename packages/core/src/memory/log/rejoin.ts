import type { KeyValueStore } from '../key-value-store.ts';
import { readValues } from './batch-reader.ts';
import type { Batch, Head, SessionKeys } from './format/session-format.ts';

/**
 * Adds this writer's own batches to a head that does not name them. Another writer overwrote this
 * writer's head, or the store shows an older head.
 */
export function rejoin(head: Head, lost: readonly string[], version: number): Head {
  if (lost.length === 0) return head;
  const [first = [], ...levels] = head.refs;
  return {
    ...head,
    version: Math.max(head.version, version),
    refs: [[...first, ...lost], ...levels],
  };
}

/**
 * Returns the batches of this writer that still belong to the session. A head of another log means
 * that the session was cleared, or that two writers began it at once, in a store without
 * `compareAndSet`. Only then does the store still have the batches.
 */
export async function knownBatches(
  store: KeyValueStore,
  keys: SessionKeys,
  { isSameLog, batches }: { readonly isSameLog: boolean; readonly batches: Map<string, Batch> },
): Promise<ReadonlyMap<string, Batch>> {
  if (isSameLog) return batches;
  if (store.compareAndSet) return new Map();
  const stored = await readValues(store, keys, [...batches.keys()]);
  return new Map([...batches].filter(([ref]) => stored.has(ref)));
}
