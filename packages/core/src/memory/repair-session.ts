import type { AgentError } from '../error/agent-error.ts';
import { coveredRefs, type Branch } from './branch/branch.ts';
import { BranchReader } from './branch/branch-reader.ts';
import { makeTurnWrite } from './branch/turn-write.ts';
import { replaceLog } from './log/log-write.ts';
import { shortId } from './log/session-keys.ts';
import { SessionStore } from './log/session-store.ts';
import { SessionFold } from './log/session-fold.ts';
import { damageError, flushesOf, isDamage } from './log/stored-batch.ts';
import type { KeyValueStore } from './store/key-value-store.ts';

/**
 * Repairs a damaged session in a store: keeps the readable records and returns the errors.
 * Tool calls whose results may be lost get `interrupted` results. Also restores a session whose
 * main record is missing; a memory shows such a session as empty. Writes nothing if nothing is
 * damaged. Damaged records stay in the store, unused, until `clear`. Call it before you open the
 * session. If reads of the store may lag behind writes, call it only while nobody writes. Rejects
 * with `STORAGE_FAILED` if another version of the library wrote the session, and with
 * `SESSION_CONFLICT` if another writer changes it meanwhile.
 *
 * @example
 * const errors = await repairSession(store, 'ann');
 */
export async function repairSession(
  store: KeyValueStore,
  sessionId: string,
): Promise<readonly AgentError[]> {
  const session = new SessionStore(store, sessionId);
  const turns = await store.keys(session.keys.turn(''));
  if (turns.length) return repairTurns(session);
  const text = await session.head();
  const { head, error } = await session.parseHead(text, { isRepair: true });
  const reading = await session.readUnnamed(head, await session.readBatches(head));
  const errors = [...(error ? [error] : []), ...reading.unread.map((each) => each.error)];
  if (!errors.length) return errors;
  const records = new SessionFold().load(flushesOf(reading)).records();
  await replaceLog(
    session,
    { text, head, batches: reading.batches },
    { records, ownership: head?.ownership },
  );
  return errors;
}

/**
 * Repairs a session whose turns are batches of their own, as `EchoMemory` writes them: writes all
 * readable records as one turn. Returns the errors.
 */
async function repairTurns(store: SessionStore): Promise<readonly AgentError[]> {
  const errors: AgentError[] = [];
  const reader = new BranchReader(store, { now: Date.now, staleMs: 0 });
  const { head, error } = await store.parseHead(await store.head(), { isRepair: true });
  // Without a readable head, the last turn is in the store's key list.
  const last = head && !error ? undefined : await lastTurn(store, reader, errors);
  const branch = last ?? (head && (await reader.readBranch(head)));
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
