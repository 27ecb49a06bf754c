export type { FlushContext, Log, LogContent } from './log.ts';
export { checkRecords, recordsOf } from './log-record.ts';
export type { Flushes, LogNote, LogRecord } from './log-record.ts';
export { changedError, levelWidth } from './log-write.ts';
export { isCutOff, resumptionOf } from './resumption.ts';
export type { LogEnd, Resumption } from './resumption.ts';
export { seal } from './seal.ts';
export type { SealedText } from './seal.ts';
export { SessionFold } from './session-fold.ts';
export { makeRef, shortId, suffixOf, turnIdOf } from './session-keys.ts';
export type { SessionKeys } from './session-keys.ts';
export { SessionStore } from './session-store.ts';
export type { CachedBatches } from './session-store.ts';
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
} from './stored-batch.ts';
export type { Batch, ReadBatches } from './stored-batch.ts';
export { addToLevels, checkNotMoved, deletedError, fullLevels, nextHead } from './stored-head.ts';
export type { Head, HeadWriter, Ownership } from './stored-head.ts';
