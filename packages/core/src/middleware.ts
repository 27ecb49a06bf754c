// The seam, for authors of middleware: what wrappers get and return, what they may do to a run, and
// the helpers of our own middleware. `Middleware`, `RunContext` and the types of messages and
// events are at `@isoloop/core`.
export { perRun } from './agent/per-run.ts';
export { isEnding, isNewAnswer, isNext } from './agent/next.ts';
export type {
  AnswerEnd,
  CustomEnd,
  CustomReason,
  EndBase,
  Ending,
  LimitEnd,
  Next,
  StoredEnd,
  UnansweredEnd,
} from './agent/next.ts';
export type { LimitReason } from './agent/request-draft.ts';
export type { Steps } from './agent/steps.ts';
export type { LogNote } from './memory/log/log-record.ts';
export type { CallState } from './event/agent-status.ts';
export type { LogEdit } from './agent/run/run-log.ts';
export type { RevisedEvent } from './agent/step/jump.ts';
export type { AskResult, ToEvent } from './agent/step/read-reply.ts';
export type { InboxHandler, JoiningCall } from './agent/run/inbox.ts';
export type { CheckedInterrupt } from './event/interrupt-request.ts';
export type {
  InnerStep,
  OpenCall,
  OuterStep,
  Reply,
  RequestDraft,
  Round,
  Wrap,
} from './agent/middleware.ts';
export { checkNewIds } from './event/agent-input.ts';
export type { ParsedInput, SettleInput } from './event/agent-input.ts';
export { withExecute, hasResult, notStarted, deniedResult, errorResult } from './tool/tool-call.ts';
export type {
  ExecuteWrapper,
  NotStarted,
  PreparedCall,
  ReadyCall,
  Suspension,
  ToolCall,
  ToolOutcome,
} from './tool/tool-call.ts';
export { withStream, wrapModel, type ModelMiddleware } from './model/wrap-model.ts';
export { boundedModel, type ModelBounds } from './model/bounded-model.ts';
export type { ReplyPiece } from './model/reply-assembler.ts';
export { runInfo, type RunInfo } from './model/chat-model.ts';
export { allowTools } from './tool/set/tool-set.ts';
export { nestedHooks, nestedWraps, type NestedHooks } from './agent/nested.ts';
export { definePreset } from './agent/use-list.ts';
export type { AgentDefaults } from './agent/kernel-options.ts';
export type { HaltReason as Stopped } from './wait/halt.ts';
export type { ControlOf, EventControls, Hook, HookHandler } from './event/hook.ts';
export type { Jump, JumpReason, ModifiableEvent } from './event/hook.ts';
export type { EventData } from './event/agent-event.ts';

// The parts of `ReActAgent`, for an `Agent` from `@isoloop/core/kernel`, or with other options.
export { approvals, type ApprovalsOptions } from './middleware/approval/approvals.ts';
export type {
  ApprovalContext,
  ApprovalDecision,
  Decide,
} from './middleware/approval/ask-approver.ts';
export type { ApprovalRule, ApprovalRules } from './middleware/approval/approval-rules.ts';
export { steering } from './middleware/steering/steering.ts';
export { pauseNextCall } from './middleware/steering/pause-next-call.ts';
export { directAnswers, type ReturnDirect } from './middleware/answer/direct-answers.ts';
export { answerAtLimit, type AnswerAtLimitOptions } from './middleware/answer/answer-at-limit.ts';
export { runLimits, type RunLimits } from './middleware/limits/run-limits.ts';

// Functions for the option `onLimit` of an agent, which are no middleware.
export { summarize, type SummarizeOptions } from './middleware/answer/summarize.ts';
export type { LimitReply, LimitSteps } from './middleware/answer/on-limit.ts';
export { answerFromObservations } from './middleware/answer/answer-from-observations.ts';
export type { AnswerFromObservationsOptions } from './middleware/answer/answer-from-observations.ts';

// Answers at a limit, and further limits.
export {
  summaryFallback,
  type SummaryFallbackOptions,
} from './middleware/answer/summary-fallback.ts';
export type { FriendlyText } from './event/agent-result.ts';
export { modelRequestLimit } from './middleware/limits/model-request-limit.ts';
export { toolCallLimit, type ToolCallLimitOptions } from './middleware/limits/tool-call-limit.ts';
export type { CallLimitOptions } from './middleware/limits/call-limit.ts';
export { concurrencyLimit } from './middleware/limits/concurrency-limit.ts';
export { Semaphore, type Release, type SemaphoreOptions } from './middleware/limits/semaphore.ts';

// Failures of models.
export { retry } from './middleware/resilience/retry.ts';
export { toolRetry } from './middleware/resilience/tool-retry.ts';
export type { RetryOptions } from './middleware/resilience/retry.ts';
export type { RetryDelayOptions, RetryInfo } from './middleware/resilience/retry-delay.ts';
export type { ToolRetryOptions } from './middleware/resilience/tool-retry.ts';
export { fallback } from './middleware/resilience/fallback.ts';
export type { FallbackInfo, FallbackOptions } from './middleware/resilience/fallback.ts';
export { circuitBreaker } from './middleware/resilience/circuit-breaker.ts';
export type {
  CircuitBreaker,
  CircuitBreakerOptions,
  CircuitChange,
  CircuitState,
} from './middleware/resilience/circuit-breaker.ts';
export { modelTimeout, type ModelTimeoutOptions } from './middleware/resilience/model-timeout.ts';
export { classifyModelErrors } from './middleware/resilience/classify-model-errors.ts';
export { replyCache } from './middleware/resilience/reply-cache.ts';
export { inMemoryReplies, storedReplies } from './middleware/resilience/cache-stores.ts';
export type { CacheLookup, ReplyCacheOptions } from './middleware/resilience/reply-cache.ts';
export type { CachedReply, ReplyCacheStore } from './middleware/resilience/cache-stores.ts';

// Tool calls and their results.
export { closeOpenCalls } from './middleware/approval/close-open-calls.ts';
export type { CloseOpenCallsOptions } from './middleware/approval/close-open-calls.ts';
export { evictLargeResults } from './middleware/results/large/evict-large-results.ts';
export type {
  EvictLargeResultsOptions,
  LargeResultEviction,
} from './middleware/results/large/evict-large-results.ts';
export { reuseResults, type ReuseResultsOptions } from './middleware/results/reuse-results.ts';
export { todoList, todosOf } from './middleware/results/todo-list.ts';
export type { Todo, TodoListOptions } from './middleware/results/todo-list.ts';
export { emulateTools, type EmulateToolsOptions } from './middleware/results/emulate-tools.ts';
export { errorHints } from './middleware/results/error-hints.ts';
export { rewordToolErrors } from './middleware/results/reword-tool-errors.ts';
export type {
  FailedTool,
  RewordToolErrorsOptions,
} from './middleware/results/reword-tool-errors.ts';
export { showToolMedia } from './model/show-tool-media.ts';

// Several agents, and people.
export { handOff } from './middleware/hand-off/hand-off.ts';
export type {
  HandOff,
  HandOffAgent,
  HandOffFilter,
  HandOffOptions,
  HandOffTarget,
} from './middleware/hand-off/hand-off-options.ts';
export { operator, operatorMessage } from './middleware/hand-off/operator.ts';
export type { OperatorMessageOptions } from './middleware/hand-off/operator.ts';

// Errors for users.
export { classifyError, type ErrorClass } from './error/classify-error.ts';
export { userErrorText } from './error/user-error-text.ts';
export type {
  UserErrorKey,
  UserErrorTextOptions,
  UserErrorTexts,
  GuardCategory,
} from './error/user-error-text.ts';
