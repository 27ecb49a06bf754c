import { misconfigured } from '../../error/agent-error.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { KeyValueStore } from '../store/key-value-store.ts';
import type { LogRecord } from '../log/log-record.ts';
import type { SessionOwner } from '../log/stored-head.ts';
import { replaceLog } from '../log/replace-log.ts';
import { SessionStore } from '../log/session-store.ts';
import { LogFold, type SessionView } from '../log/session-view.ts';
import { flushesOf } from '../log/stored-batch.ts';

/** A session as a store has it, for a program that moves it. */
export interface StoredSession {
  readonly view: SessionView;
  /** The shortest list of records that describes the session. */
  readonly records: readonly LogRecord[];
  /** Absent if no writer has claimed the session. */
  readonly owner: SessionOwner | undefined;
  /** Name of the last batch of the log. `undefined` if the store does not have the session. */
  readonly tip: string | undefined;
}

/** What a program that moves sessions writes. */
export interface StoredChange {
  readonly owner: SessionOwner;
  /** Records in place of the log. Default: the log stays. */
  readonly records?: readonly LogRecord[];
}

/** Gets a session, and returns the change to write, or `undefined`. */
export type ChooseOwner = (session: StoredSession) => Awaitable<StoredChange | undefined>;

/**
 * Writes another owner in one step, and with `records` another content. `choose` gets the session,
 * even if it belongs to another place, and returns the change or `undefined`. Rejects with
 * `SESSION_CONFLICT`, and changes nothing, if another writer has written meanwhile. Rejects with
 * `STORAGE_FAILED` if a part of the log can't be read, and with `CONFIGURATION` if the store has no
 * `compareAndSet`.
 */
export async function changeOwner(
  values: KeyValueStore,
  key: string,
  choose: ChooseOwner,
): Promise<void> {
  const store = new SessionStore(values, key);
  if (!store.isSafe) throw misconfigured('Only a store with compareAndSet can move sessions.');
  const text = await store.head();
  const head = await store.parseHead({ text });
  const { batches, unread } = await store.readBatches(head?.refs.flat() ?? [], new Map());
  if (unread[0]) throw unread[0].error;
  const view = new LogFold().load(flushesOf(batches, []));
  const records = view.records();
  const change = await choose({ view, records, owner: head?.owner, tip: head?.hash });
  if (!change) return;
  await replaceLog(store, { text, head, batches }, { records, ...change });
}
