export type { FlushContext, Log, LogContent } from './log.ts';
export { checkRecords, recordsOf } from './log-record.ts';
export type { Flushes, LogNote, LogRecord } from './log-record.ts';
export { changedError, levelWidth } from './stored/log-write.ts';
export { isCutOff, resumptionOf } from './resumption.ts';
export type { LogEnd, Resumption } from './resumption.ts';
export { seal } from './stored/seal.ts';
export type { SealedText } from './stored/seal.ts';
export { SessionFold } from './session-fold.ts';
export { makeRef, shortId, suffixOf, turnIdOf } from './stored/session-keys.ts';
export type { SessionKeys } from './stored/session-keys.ts';
export { SessionStore } from './stored/session-store.ts';
export type { CachedBatches } from './stored/session-store.ts';
export type { SessionView } from './session-view.ts';
export {
  damageError,
  flushesOf,
  formatVersion,
  inOrder,
  isDamage,
  parseBatch,
  parseSealed,
  replacedBy,
} from './stored/stored-batch.ts';
export type { Batch, ReadBatches } from './stored/stored-batch.ts';
export {
  addToLevels,
  checkNotMoved,
  deletedError,
  fullLevels,
  nextHead,
} from './stored/stored-head.ts';
export type { Head, HeadWriter, Ownership } from './stored/stored-head.ts';
