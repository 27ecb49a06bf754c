import { AgentError } from '../error/agent-error.ts';
import { func, nonNegative, optional } from '../error/options/kinds.ts';
import type { OptionTable, OtherNames } from '../error/options/option-table.ts';
import { classifyError } from '../error/classify-error.ts';
import { callListener } from '../error/report-failure.ts';
import { runInfo, type RunInfo } from '../model/chat-model.ts';
import { abortable } from '../wait/abort.ts';
import { sleepFor } from '../wait/timer.ts';
import { syncValue } from '../wait/sync-value.ts';

/** How often to try again, and how long to wait before each try. */
export interface RetryDelayOptions {
  /** Maximum number of tries, including the first. Default: 3. Source: Arc Reactor. */
  readonly attempts?: number;
  /**
   * Wait before the second try, in milliseconds. It doubles before each further try. Default: 1000.
   */
  readonly firstDelayMs?: number;
  /**
   * Maximum of these waits, in milliseconds. A random part of at most a quarter is then added or
   * subtracted. Default: 10,000.
   */
  readonly maxDelayMs?: number;
  /**
   * Maximum wait that the server may ask for, in milliseconds. If it asks for a longer wait, the
   * request fails at once. Default: 60,000.
   */
  readonly maxRetryAfterMs?: number;
  /**
   * Returns whether to try again after a failure. Default: tries again if `classifyError` calls the
   * failure transient, except for an open circuit breaker.
   */
  readonly isTransient?: (error: unknown) => boolean;
  /** Function that is called before each wait. */
  readonly onRetry?: (retry: RetryInfo) => void;
  /**
   * Function that waits. Default: uses `setTimeout`. If the signal aborts, the wait ends even if
   * this function ignores the signal.
   */
  readonly sleep?: (ms: number, signal: AbortSignal) => PromiseLike<unknown>;
  /**
   * Returns a random number, at least 0 and less than 1, for the random part of the wait. Default:
   * `Math.random`.
   */
  readonly random?: () => number;
}

/** A failure after which another try follows. */
export interface RetryInfo {
  /** Number of the failed try. The first try has number 1. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: AgentError;
  /** Id of the model, or name of the tool. */
  readonly target: string;
  /** Run that made the request or tool call. Absent if it was made outside a run. */
  readonly run?: RunInfo;
}

export const retryDelayOptions: OptionTable<RetryDelayOptions> = {
  attempts: optional(nonNegative),
  firstDelayMs: optional(nonNegative),
  maxDelayMs: optional(nonNegative),
  maxRetryAfterMs: optional(nonNegative),
  isTransient: optional(func),
  onRetry: optional(func),
  sleep: optional(func),
  random: optional(func),
};

/** Names that other libraries use for these options. */
export const otherRetryNames: OtherNames<RetryDelayOptions> = {
  attempts: ['maxRetries', 'retries', 'maxAttempts', 'max_retries', 'limit'],
  firstDelayMs: ['delay', 'delayMs', 'initialDelay', 'initialDelayMs', 'minTimeout'],
  maxDelayMs: ['maxDelay', 'maxTimeout', 'backoffLimit'],
  isTransient: ['retryOn', 'retryIf', 'shouldRetry'],
  onRetry: ['onFailedAttempt'],
};

/** A failed try, before it is known whether another one follows. */
interface FailedTry extends Pick<RetryInfo, 'attempt' | 'target'> {
  readonly error: unknown;
  readonly run: RunInfo | undefined;
}

/**
 * Returns a function that decides whether to try again. It resolves to true after the wait, or to
 * false at once if the failure is final. It rejects with the signal's reason when the signal
 * aborts. The waits grow exponentially, with random jitter.
 */
export function retryWaiter(
  options: RetryDelayOptions,
): (failed: FailedTry, signal: AbortSignal) => Promise<boolean> {
  const { attempts = 3, firstDelayMs = 1_000, maxDelayMs = 10_000 } = options;
  const { maxRetryAfterMs = 60_000, isTransient, onRetry } = options;
  const { sleep = sleepFor, random = Math.random } = options;
  return async ({ error, attempt, target, run }, signal) => {
    const errorClass = classifyError(error);
    // Errors of other code may have any value in `retryAfterMs`.
    const retryAfterMs = errorClass.retryAfterMs || 0;
    if (signal.aborted || errorClass.code === 'ABORTED') return false;
    if (attempt >= attempts || retryAfterMs > maxRetryAfterMs) return false;
    // An open circuit breaker exists to stop requests.
    const isWorthRetry = errorClass.transient && errorClass.code !== 'CIRCUIT_OPEN';
    const mayRetry = isTransient ? syncValue('isTransient', isTransient(error)) : isWorthRetry;
    if (!mayRetry) return false;
    // 0 times infinity is NaN.
    const base = Math.min(firstDelayMs * 2 ** (attempt - 1), maxDelayMs) || 0;
    const jitter = Math.trunc(base * 0.25 * (random() * 2 - 1));
    const delayMs = Math.max(0, retryAfterMs, base + jitter);
    const failure = { attempt, error: AgentError.from(error, errorClass.code), target };
    callListener(onRetry, { ...failure, delayMs, ...(run && { run: runInfo(run) }) });
    try {
      await abortable(Promise.resolve(sleep(delayMs, signal)), signal);
    } catch (thrown) {
      throw signal.aborted ? AgentError.from(signal.reason, 'ABORTED') : thrown;
    }
    return true;
  };
}
