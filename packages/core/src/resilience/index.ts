export { inMemoryReplies, storedReplies } from './cache-stores.ts';
export type { CachedReply, ReplyCacheStore } from './cache-stores.ts';
export { circuitBreaker } from './circuit-breaker.ts';
export type {
  CircuitBreaker,
  CircuitBreakerOptions,
  CircuitChange,
  CircuitState,
} from './circuit-breaker.ts';
export { classifyModelErrors } from './classify-model-errors.ts';
export { fallback } from './fallback.ts';
export type { FallbackInfo, FallbackOptions } from './fallback.ts';
export { modelTimeout } from './model-timeout.ts';
export type { ModelTimeoutOptions } from './model-timeout.ts';
export { replyCache } from './reply-cache.ts';
export type { CacheLookup, ReplyCacheOptions } from './reply-cache.ts';
export type { RetryInfo } from './retry-delay.ts';
export { retry } from './retry.ts';
export type { RetryOptions } from './retry.ts';
export { toolRetry } from './tool-retry.ts';
export type { ToolRetryOptions } from './tool-retry.ts';
