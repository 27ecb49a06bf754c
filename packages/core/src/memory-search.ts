export { keywordMemory } from './memory/keyword-memory.ts';
export type { KeywordMemoryOptions } from './memory/keyword-memory.ts';
export type { LongTermMemory, LongTermRecord, RecordOptions, RetrieveOptions } from './memory/long-term-memory.ts';
