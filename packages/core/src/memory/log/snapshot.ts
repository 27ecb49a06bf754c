import type { LogRecord } from './log-record.ts';
import { seal } from './seal.ts';
import { makeRef } from './session-keys.ts';
import type { SessionOwner } from './session-owner.ts';
import type { BatchWrite, SessionStore } from './session-store.ts';
import { LogFold } from './session-view.ts';
import { formatVersion, type Batch } from './stored-batch.ts';
import { nextHead, type Head } from './stored-head.ts';
import { titleKey } from '../storage-keys.ts';

/** The whole content of a session. */
interface Content {
  readonly records: readonly LogRecord[];
  readonly owner: SessionOwner | undefined;
  /** Names of the batches that the snapshot replaces. */
  readonly replaces: readonly string[];
}

/** Returns one batch of all records, and the head that names only this batch. */
export function snapshot(
  store: SessionStore,
  head: Head | undefined,
  { owner, records, replaces }: Content,
): Omit<BatchWrite, 'expected'> {
  const generateId = (): string => crypto.randomUUID().slice(0, 18);
  const title = new LogFold().add(records).state[titleKey] as string | undefined;
  const writing = { writer: generateId(), title, owner, generateId, now: Date.now };
  const next = nextHead(head, writing);
  const batch: Batch = { v: formatVersion, prev: head?.hash ?? '', records, replaces, owner };
  const { ref, entries } = store.seal(makeRef(next.version, generateId()), batch);
  const { text } = seal({ ...next, hash: ref, refs: [[ref]] }, store.keys.head);
  return { entries, head: text };
}
