import { AgentError } from '../../../error/agent-error.ts';
import type { LogRecord } from '../log-record.ts';
import { seal } from './seal.ts';
import { makeRef, shortId } from './session-keys.ts';
import type { SealedBatch, SessionStore } from './session-store.ts';
import { SessionFold } from '../session-fold.ts';
import { formatVersion, replacedBy, type Batch } from './stored-batch.ts';
import { fullLevels, nextHead, addToLevels, type Head, type HeadWriter } from './stored-head.ts';

/**
 * Maximum number of batches that one level of the head names. The next batch takes over the names.
 */
export const levelWidth = 32;

interface BatchContent extends HeadWriter {
  readonly records: readonly LogRecord[];
  /** Names of the batches that the records replace, in a snapshot. Default: none. */
  readonly replaces?: readonly string[] | undefined;
}

/** One batch of records, and the head that names it. */
export interface LogWrite extends SealedBatch {
  readonly batch: Batch;
  readonly head: Head;
  /** The head as it is stored. */
  readonly headText: string;
}

/** Makes the write that follows the head `previousHead`. */
export function makeWrite(
  store: SessionStore,
  previousHead: Head | undefined,
  { records, replaces, ...headWriter }: BatchContent,
): LogWrite {
  const next = nextHead(previousHead, headWriter);
  const refs = replaces ? [] : next.refs;
  const index = fullLevels(refs, levelWidth);
  const batch: Batch = {
    v: formatVersion,
    prev: previousHead?.last ?? '',
    records,
    ...(index.length > 0 && { index }),
    replaces,
    ownership: next.ownership,
  };
  const sealedBatch = store.seal(makeRef(next.version, headWriter.generateId()), batch);
  const { ref } = sealedBatch;
  const head: Head = { ...next, last: ref, refs: addToLevels(refs, index, ref) };
  return { ...sealedBatch, batch, head, headText: seal(head, store.keys.head).text };
}

/** A log in a store, as a program has read it. */
interface ReadLog {
  /** Text of the head in the store. */
  readonly text: string | undefined;
  readonly head: Head | undefined;
  readonly batches: ReadonlyMap<string, Batch>;
}

/**
 * Replaces a log with one batch of all records. Rejects with `SESSION_CONFLICT` if another writer
 * has written meanwhile.
 */
export async function replaceLog(
  store: SessionStore,
  { text, head, batches }: ReadLog,
  { records, ownership }: Pick<BatchContent, 'records' | 'ownership'>,
): Promise<void> {
  const replaces = [...batches.keys()];
  const { title } = new SessionFold().add(records);
  const headWriter = { writerId: shortId(), title, ownership, generateId: shortId, now: Date.now };
  const { entries, headText } = makeWrite(store, head, { ...headWriter, records, replaces });
  if (!(await store.write(entries, headText, text))) throw changedError();
  await store.deleteBatches(deletableAfter(store, batches));
}

/**
 * Returns the batches to delete after a snapshot has replaced all of `batches`. Without
 * `compareAndSet`, a reader may still see an older head and needs the batches that it names. In
 * such a store, returns only the batches that an earlier snapshot replaced.
 */
export function deletableAfter(
  store: SessionStore,
  batches: ReadonlyMap<string, Batch>,
): readonly string[] {
  const newlyReplaced = store.detectsWriters ? batches.keys() : [];
  return [...newlyReplaced, ...replacedBy(batches)];
}

/** Returns the error for a session that another writer has changed during an operation. */
export function changedError(): AgentError {
  const message = 'The session has changed meanwhile.';
  return new AgentError('SESSION_CONFLICT', message, { retryable: true });
}
