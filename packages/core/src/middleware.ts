export { concurrency } from './middleware/limits/concurrency-limit.ts';
export { friendlyErrors } from './middleware/friendly-errors.ts';
export type { FriendlyWords } from './middleware/friendly-errors.ts';
export { humanInTheLoop } from './middleware/approval/human-in-the-loop.ts';
export type {
  ApprovalRule,
  HumanInTheLoopOptions,
} from './middleware/approval/human-in-the-loop.ts';
export { evictLargeResults } from './middleware/evict-large-results.ts';
export type {
  EvictLargeResultsOptions,
  LargeResultEviction,
} from './middleware/evict-large-results.ts';
export { metrics } from './observe/metrics.ts';
export type {
  ExecutionMetric,
  Metrics,
  MetricsOptions,
  ModelMetric,
  RunLabels,
  ToolMetric,
} from './observe/metrics.ts';
export { modelCallLimit } from './middleware/limits/model-call-limit.ts';
export type { CallLimitOptions } from './middleware/limits/call-limit.ts';
export { parallelIds } from './middleware/parallel-ids.ts';
export { reactMemory } from './middleware/react-memory.ts';
export { Semaphore } from './middleware/limits/semaphore.ts';
export type { Release, SemaphoreOptions } from './middleware/limits/semaphore.ts';
export { toolCallLimit } from './middleware/limits/tool-call-limit.ts';
export type { ToolCallLimitOptions } from './middleware/limits/tool-call-limit.ts';
export { patchToolCalls } from './middleware/approval/patch-tool-calls.ts';
export type { PatchToolCallsOptions } from './middleware/approval/patch-tool-calls.ts';
export { todoList, todosOf } from './middleware/todo-list.ts';
export type { Todo, TodoListOptions } from './middleware/todo-list.ts';
export { toolEmulation } from './middleware/tool-emulation.ts';
export type { ToolEmulationOptions } from './middleware/tool-emulation.ts';
export { toolError } from './middleware/tool-error.ts';
export type { FailedTool, ToolErrorOptions } from './middleware/tool-error.ts';
export { toolRetry } from './middleware/tool-retry.ts';
export type { ToolRetryOptions } from './middleware/tool-retry.ts';
export { positionHooks } from './middleware/position-hooks.ts';
export type { PositionHook } from './middleware/position-hooks.ts';
export { contextEditing } from './context/context-editing.ts';
export type { ContextEditingOptions } from './context/context-editing.ts';
export { summarization } from './context/summarization.ts';
export type { SummarizationOptions } from './context/summarization.ts';
export { piiGuard } from './guard/pii/pii-guard.ts';
export type { PiiGuardOptions } from './guard/pii/pii-guard.ts';
export type { BackoffOptions, Retry } from './middleware/resilience/backoff.ts';
export { circuitBreaker } from './middleware/resilience/circuit-breaker.ts';
export type {
  CircuitBreaker,
  CircuitBreakerOptions,
  CircuitChange,
  CircuitState,
} from './middleware/resilience/circuit-breaker.ts';
export { fallback } from './middleware/resilience/fallback.ts';
export type { Fallback, FallbackOptions } from './middleware/resilience/fallback.ts';
export { modelTimeout } from './middleware/resilience/model-timeout.ts';
export type { ModelTimeoutOptions } from './middleware/resilience/model-timeout.ts';
export { responseCache } from './middleware/resilience/response-cache.ts';
export type { CacheLookup, ResponseCacheOptions } from './middleware/resilience/response-cache.ts';
export { memoryResponses, storedResponses } from './middleware/resilience/response-store.ts';
export type { CachedReply, ResponseStore } from './middleware/resilience/response-store.ts';
export { retry } from './middleware/resilience/retry.ts';
export type { RetryOptions } from './middleware/resilience/retry.ts';
export { withStream, wrapModel } from './model/wrap-model.ts';
export type { ModelMiddleware } from './model/wrap-model.ts';
export { toolMedia } from './provider/tool-media.ts';
export { maskParameters } from './observe/mask-parameters.ts';
export { jsonlTrace } from './observe/jsonl-trace.ts';
export type { JsonlTrace, JsonlTraceOptions } from './observe/jsonl-trace.ts';
export { byModel } from './tool-selection/by-model.ts';
export type { ByModelOptions } from './tool-selection/by-model.ts';
export { selectTools } from './tool-selection/select-tools.ts';
export type { SelectToolsOptions, ToolSelector } from './tool-selection/select-tools.ts';
export type { ReadyCall } from './tool/prepare-call.ts';
export { isSuspension } from './tool/run-call.ts';
export type { RunCall, RunCallOptions, Suspension } from './tool/run-call.ts';
