import type { AgentError } from '../error/agent-error.ts';
import { repairTurns } from './branch/repair-turns.ts';
import type { KeyValueStore } from './store/key-value-store.ts';
import { replaceLog } from './log/log-write.ts';
import { SessionStore } from './log/session-store.ts';
import { LogState } from './log/session-view.ts';
import { flushesOf } from './log/stored-batch.ts';

/**
 * Repairs a damaged session in a store: keeps the readable records and returns the errors.
 * Tool calls whose results may be lost get `interrupted` results. Also restores a session whose main
 * record is missing; a memory shows such a session as empty. Writes nothing if nothing is damaged.
 * Damaged records stay in the store, unused, until `clear`. Call it before you open the session. If
 * reads of the store may lag behind writes, call it only while nobody writes. Rejects with
 * `STORAGE_FAILED` if another version of the library wrote the session, and with `SESSION_CONFLICT`
 * if another writer changes it meanwhile.
 *
 * @example
 * const errors = await repairSession(store, 'ann');
 */
export async function repairSession(
  values: KeyValueStore,
  sessionId: string,
): Promise<readonly AgentError[]> {
  const store = new SessionStore(values, sessionId);
  const turns = await values.keys(store.keys.turn(''));
  if (turns.length) return repairTurns(store);
  const text = await store.head();
  const { head, error } = await store.parseHead(text, { isRepair: true });
  const found = await store.readUnnamed(head, await store.readBatches(head));
  const errors = [...(error ? [error] : []), ...found.unread.map((each) => each.error)];
  if (!errors.length) return errors;
  const records = new LogState().load(flushesOf(found)).records();
  await replaceLog(store, { text, head, batches: found.batches }, { records, owner: head?.owner });
  return errors;
}
