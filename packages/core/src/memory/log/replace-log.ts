import { AgentError } from '../../error/agent-error.ts';
import { titleKey } from '../store/storage-keys.ts';
import type { LogRecord } from './log-record.ts';
import { makeWrite } from './log-write.ts';
import { shortId } from './session-keys.ts';
import type { SessionStore } from './session-store.ts';
import { LogFold } from './session-view.ts';
import { replacedBy, type Batch } from './stored-batch.ts';
import type { Head, SessionOwner } from './stored-head.ts';

/** A log in a store, as a program has read it. */
interface KnownLog {
  /** Text of the head in the store. */
  readonly text: string | undefined;
  readonly head: Head | undefined;
  readonly batches: ReadonlyMap<string, Batch>;
}

/** The whole content of a session. */
interface Content {
  readonly records: readonly LogRecord[];
  readonly owner: SessionOwner | undefined;
}

/**
 * Replaces a log with one batch of all records. Rejects with `SESSION_CONFLICT` if another writer has
 * written meanwhile.
 */
export async function replaceLog(
  store: SessionStore,
  { text, head, batches }: KnownLog,
  { records, owner }: Content,
): Promise<void> {
  const replaces = [...batches.keys()];
  const title = new LogFold().add(records).state[titleKey] as string | undefined;
  const writing = { writer: shortId(), title, owner, generateId: shortId, now: Date.now };
  const { entries, headText } = makeWrite(store, head, { ...writing, records, replaces });
  if (!(await store.write({ entries, head: headText, expected: text })))
    throw new AgentError('SESSION_CONFLICT', 'The session has changed meanwhile.', {
      retryable: true,
    });
  // In a store without `compareAndSet`, a reader may still see the head before.
  await store.deleteBatches([...(store.isSafe ? replaces : []), ...replacedBy(batches)]);
}
