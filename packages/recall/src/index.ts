export type { RetrievalCall, RetrievalOptions } from './find-documents.ts';
export { longTermMemory } from './long-term-memory.ts';
export type {
  LongTermMemoryMiddleware,
  LongTermMemoryOptions,
  LongTermPhase,
  LongTermTurn,
} from './long-term-memory.ts';
export type {
  LongTermMemory,
  LongTermRecord,
  LongTermRecordOptions,
  LongTermRetrieveOptions,
} from './long-term-store.ts';
export { keywordRerank, mmrRerank } from './rerank.ts';
export type { Rerank } from './rerank.ts';
export { recentQuestions, retrieval } from './retrieval.ts';
export { chunkText } from './search/chunk-text.ts';
export type { ChunkOptions } from './search/chunk-text.ts';
export { keywordMemory } from './search/keyword-memory.ts';
export type { KeywordMemoryOptions } from './search/keyword-memory.ts';
export { keywordRetriever } from './search/keyword-retriever.ts';
export type {
  KeywordRetriever,
  KeywordRetrieverOptions,
  SearchDocument,
  StoredDocuments,
} from './search/keyword-retriever.ts';
export type { RetrieveOptions, Retriever } from './search/retriever.ts';
