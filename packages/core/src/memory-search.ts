export { keywordMemory, type KeywordMemoryOptions } from './search/keyword-memory.ts';
export { chunkText, type ChunkOptions } from './search/chunk-text.ts';
export {
  keywordRetriever,
  type KeywordRetriever,
  type KeywordRetrieverOptions,
  type SearchDocument,
  type StoredDocuments,
} from './search/keyword-retriever.ts';
