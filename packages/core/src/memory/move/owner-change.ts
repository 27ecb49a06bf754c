import { misconfigured } from '../../error/agent-error.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { LogRecord } from '../log/log-record.ts';
import { replaceLog } from '../log/stored/log-write.ts';
import { SessionStore } from '../log/stored/session-store.ts';
import { SessionFold } from '../log/session-fold.ts';
import type { SessionView } from '../log/session-view.ts';
import { flushesOf } from '../log/stored/stored-batch.ts';
import type { Ownership } from '../log/stored/stored-head.ts';
import type { KeyValueStore } from '../store/key-value-store.ts';

/** A session as a store has it, for a program that moves it. */
export interface StoredSession {
  readonly view: SessionView;
  /** The shortest list of records that describes the session. */
  readonly records: readonly LogRecord[];
  /** Absent if no writer has claimed the session. */
  readonly ownership: Ownership | undefined;
  /** Name of the last batch of the log. `undefined` if the store does not have the session. */
  readonly tip: string | undefined;
}

/** What a program that moves sessions writes. */
interface StoredChange {
  readonly ownership: Ownership;
  /** Records in place of the log. Default: the log stays. */
  readonly records?: readonly LogRecord[];
}

/** Gets a session, and returns the change to write, or `undefined`. */
export type ChooseOwner = (session: StoredSession) => Awaitable<StoredChange | undefined>;

/**
 * Writes another owner in one step, and with `records` another content. `choose` gets the session,
 * even if it belongs to another place, and returns the change or `undefined`. Rejects with
 * `SESSION_CONFLICT`, and changes nothing, if another writer has written meanwhile. Rejects
 * with `STORAGE_FAILED` if a part of the log can't be read, and with `CONFIGURATION` if the store
 * has no `compareAndSet`.
 */
export async function changeOwner(
  store: KeyValueStore,
  key: string,
  choose: ChooseOwner,
): Promise<void> {
  const session = new SessionStore(store, key);
  if (!session.detectsWriters)
    throw misconfigured('Only a store with compareAndSet can move sessions.');
  const text = await session.head();
  const { head } = await session.parseHead(text);
  const reading = await session.readBatches(head);
  const { batches, unread } = reading;
  if (unread[0]) throw unread[0].error;
  const fold = new SessionFold().load(flushesOf(reading));
  const records = fold.records();
  const change = await choose({ view: fold, records, ownership: head?.ownership, tip: head?.last });
  if (!change) return;
  await replaceLog(session, { text, head, batches }, { records, ...change });
}
