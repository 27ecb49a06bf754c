import { AgentError } from '../../error/agent-error.ts';
import { findBatches } from './batch-reader.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import { missingRefs } from './integrity/missing-refs.ts';
import { formatVersion, parseHead, isSealed, versionOf } from './format/session-format.ts';
import type { Batch, Head, SessionKeys } from './format/session-format.ts';

export interface HeadReading {
  /** The head in the store. */
  readonly text: string | undefined;
  /** Receives the error of a torn head that was rebuilt. */
  readonly onDamage?: ((error: AgentError) => void) | undefined;
  /** Collects errors for a repair, which rebuilds an absent head too, and in any store. */
  readonly errors?: AgentError[] | undefined;
}

/**
 * Parses the head. Rebuilds a torn one by the store's key list, if that list is current. Throws
 * `STORAGE_FAILED` if it can't.
 */
export async function readHead(
  store: KeyValueStore,
  keys: SessionKeys,
  { text, onDamage, errors }: HeadReading,
): Promise<Head | undefined> {
  if (text === undefined) return errors && findHead(store, keys, errors);
  try {
    return parseHead(text, keys.head);
  } catch (thrown) {
    const error = AgentError.from(thrown);
    const isNewer = error.details?.['format'] !== undefined;
    // A store that compares and sets also lists its keys as they are.
    if (isNewer || !(errors || store.features.compareAndSet)) throw error;
    const head = await rebuildHead(store, keys, { guesses: errors !== undefined });
    if (errors) errors.push(error);
    else if (!head) throw error;
    else onDamage?.(error);
    return head;
  }
}

/** Rebuilds an absent head; returns `undefined` if the session is empty. */
async function findHead(
  store: KeyValueStore,
  keys: SessionKeys,
  errors: AgentError[],
): Promise<Head | undefined> {
  const head = await rebuildHead(store, keys, { guesses: true });
  if (head) {
    const text = `The session's record ${keys.head} is not in the store`;
    errors.push(new AgentError('STORAGE_FAILED', text, { details: { key: keys.head } }));
  }
  return head;
}

/**
 * Returns a head of the batches in the store; `undefined` if there are none. It also names batches
 * that are missing between these or before them, so that readers report them. Batches missing at
 * the end can't be told from a crash before their write. Two writers may have written the last
 * batch at once, and one of them failed. Then it returns `undefined`, or takes both with `guesses`.
 */
async function rebuildHead(
  store: KeyValueStore,
  keys: SessionKeys,
  { guesses }: { readonly guesses: boolean },
): Promise<Head | undefined> {
  const refs = keys.refs(await store.keys(keys.prefix)).toSorted();
  const last = refs.at(-1);
  if (last === undefined) return undefined;
  const version = versionOf(last);
  const tips = refs.filter((ref) => versionOf(ref) === version);
  if (tips.length > 1 && !guesses) return undefined;
  const batches = new Map<string, Batch>();
  const unread = await findBatches(store, keys, tips, { batches, unread: [] });
  const found = [...batches.keys(), ...unread.map(({ ref }) => ref)];
  const leader = batches.get(last)?.leader;
  return {
    v: formatVersion,
    version,
    writer: '',
    // The same batches give the same log.
    chain: last,
    // Format 2 has another hash here; without it, the last batch is not checked.
    hash: isSealed(last) ? last : '',
    refs: [[...found, ...missingRefs({ batches, unread })].toSorted()],
    createdAt: 0,
    updatedAt: 0,
    ...(leader !== undefined && { leader }),
  };
}
