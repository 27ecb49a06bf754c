export { clearToolResults } from './middleware/context/clear-tool-results.ts';
export type { ClearToolResultsOptions } from './middleware/context/clear-tool-results.ts';
export { fitContext, type FitContextOptions } from './middleware/context/fit-context.ts';
export { answersOnly, lastTurns, successfulTurns } from './middleware/context/history-views.ts';
export type { TokenRatios, WindowOptions } from './middleware/context/request-meter.ts';
export { summarizeHistory } from './middleware/context/summarize-history.ts';
export type {
  HistorySummarizer,
  SummarizeHistoryOptions,
} from './middleware/context/summarize-history.ts';
export { weightedHistory } from './middleware/context/weighted-history.ts';
export type { WeightedHistoryOptions } from './middleware/context/weighted-history.ts';
export { contextPolicy } from './middleware/context/context-policy.ts';
export type {
  ContextMiddleware,
  ContextPolicy,
  ContextRequest,
  FittedContext,
} from './middleware/context/context-policy.ts';
export type { SummaryStore } from './memory/store/key-value-store.ts';
export { markImported, type MarkImportedOptions } from './middleware/context/mark-imported.ts';
export { sessionSummaries } from './memory/session-summaries.ts';
