import type { AgentError, KeyValueStore } from '@isoloop/core';
import {
  damageError,
  flushesOf,
  isDamage,
  SessionFold,
  SessionStore,
  shortId,
} from '@isoloop/core/log';
import { coveredRefs, type Branch } from './log/branch.ts';
import { BranchReader } from './log/branch-reader.ts';
import { makeTurnWrite } from './log/turn-write.ts';

/**
 * Repairs a damaged session of `KvMemory`: writes all readable records as one turn, and returns the
 * errors. Tool calls whose results may be lost get `interrupted` results. Also restores a session
 * whose main record is missing; a memory shows such a session as empty. Writes nothing if nothing
 * is damaged. Damaged records stay in the store, unused, until `clear`. Call it while nobody
 * writes, because reads of KV may lag behind writes. Rejects with `STORAGE_FAILED` if another
 * version of the library wrote the session.
 *
 * @example
 * const errors = await repairKvSession(new KvStore(env.CHAT_KV), 'ann/chat-1');
 */
export async function repairKvSession(
  kv: KeyValueStore,
  sessionId: string,
): Promise<readonly AgentError[]> {
  const store = new SessionStore(kv, sessionId);
  const errors: AgentError[] = [];
  const reader = new BranchReader(store, { now: Date.now, staleMs: 0 });
  const { head, error } = await store.parseHead(await store.head(), { isRepair: true });
  // Without a readable head, the last turn is in the store's key list.
  let last: Branch | undefined;
  if (!head || error) last = await lastTurn(store, reader, errors);
  let branch = last;
  if (!branch && head) branch = await reader.readBranch(head);
  const headError = error ?? (last && damageError(store.keys.head));
  if (headError) errors.push(headError);
  for (const unread of branch?.unread ?? []) errors.push(unread.error);
  if (errors.length) await writeTurn(store, branch);
  return errors;
}

/** Reads the branch that ends with the newest readable turn. */
async function lastTurn(
  store: SessionStore,
  reader: BranchReader,
  errors: AgentError[],
): Promise<Branch | undefined> {
  const start = store.keys.turn('');
  const keys = await store.kv.keys(start);
  const firsts = keys.filter((key) => !key.slice(start.length).includes(':'));
  const branches: Branch[] = [];
  for (const [key, value] of await store.kv.getMany(firsts)) {
    try {
      const branch = await reader.parseTurn(key.slice(start.length), value);
      if (branch) branches.push(branch);
    } catch (error) {
      if (!isDamage(error)) throw error;
      errors.push(error);
    }
  }
  const age = ({ head: one }: Branch, { head: other }: Branch): number =>
    one.version - other.version || one.updatedAt - other.updatedAt;
  return branches.toSorted(age).at(-1);
}

/** Writes the readable records as a turn that replaces all batches, and the head. */
async function writeTurn(store: SessionStore, branch: Branch | undefined): Promise<void> {
  const fold = new SessionFold().load(branch ? flushesOf(branch) : []);
  const replaces = branch ? coveredRefs(branch) : [];
  const content = { records: fold.records(), replaces, index: [] };
  const headWriter = { writerId: shortId(), title: fold.title, generateId: shortId, now: Date.now };
  const turn = await makeTurnWrite(store, branch, content, { ...headWriter, id: shortId() });
  await store.kv.setMany([...turn.values, turn.head]);
}
