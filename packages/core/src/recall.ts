export type {
  LongTermMemory,
  LongTermRecord,
  LongTermRecordOptions,
  LongTermRetrieveOptions,
} from './search/long-term-memory.ts';
export { longTermMemory } from './middleware/recall/long-term/long-term-memory.ts';
export type { LongTermMemoryMiddleware } from './middleware/recall/long-term/long-term-memory.ts';
export type {
  LongTermMemoryOptions,
  LongTermPhase,
  LongTermTurn,
} from './middleware/recall/long-term/record-search.ts';
export { keywordRerank, mmrRerank, type Rerank } from './middleware/recall/retrieval/rerank.ts';
export type {
  RetrievalCall,
  RetrievalOptions,
} from './middleware/recall/retrieval/find-documents.ts';
export { recentQuestions, retrieval } from './middleware/recall/retrieval/retrieval.ts';
export type { RetrievedDocument } from './message/retrieved-document.ts';
export type { RetrieveOptions, Retriever } from './search/retriever.ts';
