import type { LogRecord } from './log-record.ts';
import { seal } from './seal.ts';
import { makeRef } from './session-keys.ts';
import type { BatchWrite, SessionStore } from './session-store.ts';
import { formatVersion, type Batch } from './stored-batch.ts';
import { fullLevels, nextHead, takeOver, type Head, type Writing } from './stored-head.ts';

/**
 * Maximum number of batches that one level of the head names. The next batch takes over the names.
 */
export const levelWidth = 32;

interface Content extends Writing {
  readonly records: readonly LogRecord[];
  /** Names of the batches that the records replace, in a snapshot. Default: none. */
  readonly replaces?: readonly string[] | undefined;
}

/** One batch of records, and the head that names it. */
export interface LogWrite extends Omit<BatchWrite, 'head' | 'expected'> {
  readonly ref: string;
  readonly batch: Batch;
  readonly head: Head;
  /** The head as it is stored. */
  readonly headText: string;
}

/** Makes the write that follows the head `before`. */
export function makeWrite(
  store: SessionStore,
  before: Head | undefined,
  { records, replaces, ...writing }: Content,
): LogWrite {
  const next = nextHead(before, writing);
  const refs = replaces ? [] : next.refs;
  const index = fullLevels(refs, levelWidth);
  const batch: Batch = {
    v: formatVersion,
    prev: before?.hash ?? '',
    records,
    ...(index.length > 0 && { index }),
    replaces,
    owner: next.owner,
  };
  const { ref, entries } = store.seal(makeRef(next.version, writing.generateId()), batch);
  const head: Head = { ...next, hash: ref, refs: takeOver(refs, index, ref) };
  return { ref, batch, entries, head, headText: seal(head, store.keys.head).text };
}
