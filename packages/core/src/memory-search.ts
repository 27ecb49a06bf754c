export { keywordMemory } from './memory/keyword-memory.ts';
export type { KeywordMemoryOptions } from './memory/keyword-memory.ts';
