export { clearToolResults } from './context/clearing/clear-tool-results.ts';
export type { ClearToolResultsOptions } from './context/clearing/clear-tool-results.ts';
export { fitContext } from './context/fit-context.ts';
export type { FitContextOptions } from './context/fit-context.ts';
export { answersOnly, lastTurns, successfulTurns } from './context/history-views.ts';
export type { TokenRatios, WindowOptions } from './context/meter/request-meter.ts';
export { summarization } from './context/summary/summarization.ts';
export type { SummarizationOptions } from './context/summary/summarization.ts';
export type {
  HistorySummarizer,
  SummarizeHistoryOptions,
} from './context/summary/summarize-history.ts';
export { twoPhaseTrim } from './context/two-phase-trim.ts';
export type { TrimOptions, Trimmed } from './context/two-phase-trim.ts';
export { weightedHistory } from './context/weighted-history.ts';
export type { WeightedHistoryOptions } from './context/weighted-history.ts';
export type { ContextPolicy, ContextRequest, FittedContext } from './loop/context-policy.ts';
export type { SummaryStore } from './memory/summary-store.ts';
