export type {
  LongTermMemory,
  LongTermRecord,
  LongTermRecordOptions,
  LongTermRetrieveOptions,
} from './search/long-term-memory.ts';
export {
  longTermMemory,
  type LongTermMemoryMiddleware,
  type LongTermMemoryOptions,
  type LongTermPhase,
  type LongTermTurn,
} from './middleware/recall/long-term-memory.ts';
export { keywordRerank, mmrRerank, type Rerank } from './middleware/recall/rerank.ts';
export type { RetrievalCall, RetrievalOptions } from './middleware/recall/find-documents.ts';
export { recentQuestions, retrieval } from './middleware/recall/retrieval.ts';
export type { RetrievedDocument } from './message/retrieved-document.ts';
export type { RetrieveOptions, Retriever } from './search/retriever.ts';
