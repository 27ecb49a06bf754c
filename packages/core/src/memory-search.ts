export { keywordMemory, type KeywordMemoryOptions } from './search/keyword-memory.ts';
export { chunkText, type ChunkOptions } from './search/chunk-text.ts';
export type { SearchDocument } from './search/document-index.ts';
export { keywordRetriever } from './search/keyword-retriever.ts';
export type {
  KeywordRetriever,
  KeywordRetrieverOptions,
  StoredDocuments,
} from './search/keyword-retriever.ts';
