export { answerAtLimit } from './answer-at-limit.ts';
export type { AnswerAtLimitOptions } from './answer-at-limit.ts';
export { directAnswers } from './direct-answers.ts';
export type { OnLimit, ReachedLimit } from './on-limit.ts';
export { summarize } from './summarize.ts';
export type { SummarizeOptions } from './summarize.ts';
export { summaryFallback } from './summary-fallback.ts';
export type { SummaryFallbackOptions } from './summary-fallback.ts';
