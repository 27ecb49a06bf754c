export type {
  LongTermMemory,
  LongTermRecord,
  LongTermRecordOptions,
  LongTermRetrieveOptions,
} from './recall/long-term/long-term-contract.ts';
export { longTermMemory } from './recall/long-term/long-term-memory.ts';
export type { LongTermMemoryMiddleware } from './recall/long-term/long-term-memory.ts';
export type {
  LongTermMemoryOptions,
  LongTermPhase,
  LongTermTurn,
} from './recall/long-term/long-term-options.ts';
export { keywordRerank, mmrRerank } from './recall/retrieval/rerank.ts';
export type { Rerank } from './recall/retrieval/rerank.ts';
export type { RetrievalCall, RetrievalOptions } from './recall/retrieval/retrieval-options.ts';
export { recentQuestions, retrieval } from './recall/retrieval/retrieval.ts';
export type {
  RetrieveOptions,
  RetrievedDocument,
  Retriever,
} from './recall/retrieval/retriever.ts';
