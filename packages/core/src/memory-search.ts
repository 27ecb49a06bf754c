export { keywordMemory } from './memory/keyword-memory.ts';
export type { KeywordMemoryOptions } from './memory/keyword-memory.ts';
export { chunkText } from './memory/chunk-text.ts';
export type { ChunkOptions } from './memory/chunk-text.ts';
export type { SearchDocument } from './memory/document-index.ts';
export { keywordRetriever } from './memory/keyword-retriever.ts';
export type { KeywordRetriever, KeywordRetrieverOptions, StoredDocuments } from './memory/keyword-retriever.ts';
