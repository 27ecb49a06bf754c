import { readBatches, type UnreadBatch } from './batch-reader.ts';
import { digest } from './digest.ts';
import type { KeyValueStore } from './key-value-store.ts';
import type { LogRecord } from './log-record.ts';
import { placeRef } from './place-ref.ts';
import { joinValue } from './split-value.ts';
import type { Tip } from './session-echo.ts';
import { formatVersion, makeTurnRef, parseBatch, turnOf, type Batch, type Head, type SessionKeys } from './session-format.ts';
import { levelWidth, replacedBy } from './session-log.ts';

/** A session's log as one of its heads names it. */
export interface Branch {
  readonly head: Head;
  readonly tip: Tip;
  readonly batches: ReadonlyMap<string, Batch>;
  /** Its batches and all that its snapshots stand for, by their turns. */
  readonly names: ReadonlySet<string>;
  /** What of it can't be read; `missing`: not in the store, or not yet. */
  readonly unread: readonly UnreadBatch[];
  readonly missing: boolean;
}

/** What a batch goes by: its turn, which stays the same wherever in the log it is put. */
export function nameOf(ref: string): string {
  return turnOf(ref) ?? ref;
}

export async function readBranch(
  store: KeyValueStore,
  keys: SessionKeys,
  head: Head,
  known: ReadonlyMap<string, Batch> = new Map(),
): Promise<Branch> {
  const { batches, unread } = await readBatches(store, keys, head.refs.flat(), known);
  const ref = head.refs.flat().reduce((last, each) => (last < each ? each : last), '');
  return {
    head,
    tip: { ref, hash: head.hash, chain: head.chain },
    batches,
    names: new Set([...batches.keys(), ...replacedBy(batches)].map(nameOf)),
    unread,
    missing: unread.some(({ error }) => error.retryable),
  };
}

/** The branch that ends with this batch, from the batches alone; nothing where that one is not in the store, or tells no head. */
export async function readTip(store: KeyValueStore, keys: SessionKeys, { ref, hash }: Tip): Promise<Branch | undefined> {
  const names = keys.batch(ref);
  const values = await store.getMany(names);
  const found = names.flatMap((name) => values.get(name) ?? []);
  if (turnOf(ref) === undefined || found.length < names.length || (await digest(joinValue(found))) !== hash) return undefined;
  return branchOf(store, keys, ref, parseBatch(found), hash);
}

/** Times that a turn may be written, each under a key of its own. */
export const maxAttempts = 8;

/** A turn's id for its write after `failed` ones: what those left is never overwritten. */
export function attemptId(turnId: string, failed: number): string {
  return failed ? `${turnId}_${failed}` : turnId;
}

/** The branch that a turn left, if it did: of its writes the last one. */
export async function readTurn(store: KeyValueStore, keys: SessionKeys, turnId: string): Promise<Branch | undefined> {
  const ids = Array.from({ length: maxAttempts }, (_, failed) => attemptId(turnId, failed));
  const firsts = new Map(ids.map((id) => [id, keys.batch(makeTurnRef(0, id, 1))[0]!]));
  const written = await store.getMany([...firsts.values()]);
  const id = ids.findLast((each) => written.has(firsts.get(each)!));
  if (id === undefined) return undefined;
  const first = firsts.get(id)!;
  const values = [written.get(first)!];
  // A part of a value is a JSON string, a whole batch is an object.
  const isSplit = values[0]!.startsWith('"');
  while (isSplit) {
    const value = await store.get(`${first}:${values.length}`);
    if (value === undefined) break;
    values.push(value);
  }
  try {
    const batch = parseBatch(values);
    const ref = makeTurnRef(batch.head?.version ?? 0, id, values.length);
    return await branchOf(store, keys, ref, batch, await digest(joinValue(values)));
  } catch (error) {
    // Its writer ended between two parts.
    if (isSplit) return undefined;
    throw error;
  }
}

/** In the order they were written, without what a snapshot stands for. */
export function recordsOf({ batches }: Pick<Branch, 'batches'>): readonly LogRecord[] {
  const replaced = replacedBy(batches);
  const left = [...batches].filter(([ref]) => !replaced.has(ref)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return left.flatMap(([, batch]) => batch.records);
}

async function branchOf(store: KeyValueStore, keys: SessionKeys, ref: string, batch: Batch, hash: string): Promise<Branch | undefined> {
  if (!batch.head) return undefined;
  const head: Head = { ...batch.head, v: formatVersion, hash, refs: placeRef(batch.head.refs, levelWidth).levels(ref) };
  const branch = await readBranch(store, keys, head, new Map([[ref, batch]]));
  return branch.missing ? undefined : branch;
}
