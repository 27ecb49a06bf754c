export { keywordMemory } from './recall/search/keyword-memory.ts';
export type { KeywordMemoryOptions } from './recall/search/keyword-memory.ts';
export { chunkText } from './recall/search/chunk-text.ts';
export type { ChunkOptions } from './recall/search/chunk-text.ts';
export type { SearchDocument } from './recall/search/document-index.ts';
export { keywordRetriever } from './recall/search/keyword-retriever.ts';
export type {
  KeywordRetriever,
  KeywordRetrieverOptions,
  StoredDocuments,
} from './recall/search/keyword-retriever.ts';
