export type {
  LongTermMemory,
  LongTermRecord,
  LongTermRecordOptions,
  LongTermRetrieveOptions,
} from './search/long-term-memory.ts';
export { longTermMemory } from './middleware/recall/long-term-memory.ts';
export type { LongTermMemoryMiddleware } from './middleware/recall/long-term-memory.ts';
export type {
  LongTermMemoryOptions,
  LongTermPhase,
  LongTermTurn,
} from './middleware/recall/record-search.ts';
export { keywordRerank, mmrRerank, type Rerank } from './middleware/recall/rerank.ts';
export type { RetrievalCall, RetrievalOptions } from './middleware/recall/find-documents.ts';
export { recentQuestions, retrieval } from './middleware/recall/retrieval.ts';
export type { RetrievedDocument } from './message/retrieved-document.ts';
export type { RetrieveOptions, Retriever } from './search/retriever.ts';
