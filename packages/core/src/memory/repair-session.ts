import { misconfigured, type AgentError } from '../error/agent-error.ts';
import { replaceLog } from './log/stored/log-write.ts';
import { SessionStore } from './log/stored/session-store.ts';
import { SessionFold } from './log/session-fold.ts';
import { flushesOf } from './log/stored/stored-batch.ts';
import type { KeyValueStore } from './store/key-value-store.ts';

/**
 * Repairs a damaged session in a store: keeps the readable records and returns the errors.
 * Tool calls whose results may be lost get `interrupted` results. Also restores a session whose
 * main record is missing; a memory shows such a session as empty. Writes nothing if nothing is
 * damaged. Damaged records stay in the store, unused, until `clear`. Call it before you open the
 * session. If reads of the store may lag behind writes, call it only while nobody writes. Rejects
 * with `STORAGE_FAILED` if another version of the library wrote the session, and with
 * `SESSION_CONFLICT` if another writer changes it meanwhile. Rejects with `CONFIGURATION` for a
 * session of `KvMemory`, which `repairKvSession()` of `@isoloop/edge/kv` repairs.
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
  if (turns.length)
    throw misconfigured(
      `\`KvMemory\` wrote the session ${sessionId}: use repairKvSession() of @isoloop/edge/kv.`,
    );
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
