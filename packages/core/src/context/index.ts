export { clearToolResults } from './clear-tool-results.ts';
export type { ClearToolResultsOptions } from './clear-tool-results.ts';
export { contextPolicy } from './context-policy.ts';
export type {
  ContextMiddleware,
  ContextPolicy,
  ContextRequest,
  FittedContext,
} from './context-policy.ts';
export { fitContext, trimContext } from './fit-context.ts';
export type { FitContextOptions, TrimRules } from './fit-context.ts';
export { answersOnly, lastTurns, successfulTurns, turnView } from './history-views.ts';
export type { Turn } from './history-views.ts';
export { markImported } from './mark-imported.ts';
export type { MarkImportedOptions } from './mark-imported.ts';
export { summarizeHistory } from './summarize-history.ts';
export type { HistorySummarizer, SummarizeHistoryOptions } from './summarize-history.ts';
