import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { classifyError, type ErrorClass } from '../../error/classify-error.ts';
import type { RunInfo } from '../../model/chat-model.ts';
import { abortable } from '../../model/abortable.ts';
import { tell } from '../../error/tell.ts';
import { wait } from '../../model/wait.ts';

export interface BackoffOptions {
  /** Number of tries, the first included; default 3 (Arc Reactor). */
  readonly attempts?: number;
  /** Wait before the second try, in milliseconds, doubled before each further try. Default 1000. */
  readonly firstDelayMs?: number;
  /**
   * Longest of these waits, in milliseconds, before jitter of up to a quarter more or less. Default
   * 10 000.
   */
  readonly maxDelayMs?: number;
  /**
   * Longest `Retry-After` to wait for, in milliseconds. After a longer one the request fails at
   * once. Default 60 000.
   */
  readonly maxRetryAfterMs?: number;
  /**
   * Whether to try again after a failure. Default: if `classifyError` calls it transient and it is
   * not an open circuit breaker.
   */
  readonly isTransient?: (error: unknown) => boolean;
  /** Called before each wait. */
  readonly onRetry?: (retry: Retry) => void;
  /**
   * Waits; default `setTimeout`. A raised signal ends the wait even if this function ignores it.
   */
  readonly sleep?: (ms: number, signal: AbortSignal) => PromiseLike<unknown>;
  /** Random number from 0 to below 1, for the jitter; default `Math.random`. */
  readonly random?: () => number;
}

export interface Retry {
  /** Number of the failed try, from 1. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: AgentError;
  /** The model's id, or the tool's name. */
  readonly of: string;
  /** The run it belongs to; absent if no run made the request. */
  readonly run?: RunInfo;
}

/** A failed try. */
export interface FailedTry {
  readonly error: unknown;
  /** Number of the try, from 1. */
  readonly attempt: number;
  readonly of: string;
  readonly signal: AbortSignal;
  readonly run?: RunInfo | undefined;
}

/**
 * Waits and resolves to true, or at once to false if there is no further try. Rejects with the
 * signal's reason when the signal is raised.
 */
export type Backoff = (failed: FailedTry) => Promise<boolean>;

/** Caps the exponent: a delay of 0 times infinity would be NaN. */
const mostDoublings = 50;

/**
 * Returns exponential waits with jitter, as in Arc Reactor. Throws `CONFIGURATION` for an option of
 * the wrong kind.
 */
export function backoff(where: string, options: BackoffOptions): Backoff {
  const kinds =
    'firstDelayMs:count|? maxDelayMs:count|? maxRetryAfterMs:count|? isTransient:function|? onRetry:function|?';
  checkFields(
    'CONFIGURATION',
    where,
    options,
    `attempts:count|? ${kinds} sleep:function|? random:function|?`,
  );
  const {
    attempts = 3,
    firstDelayMs = 1_000,
    maxDelayMs = 10_000,
    maxRetryAfterMs = 60_000,
  } = options;
  const { isTransient, onRetry, sleep = wait, random = Math.random } = options;
  return async ({ error, attempt, of, signal, run }) => {
    const known = classifyError(error);
    // Errors of other code may carry any value here.
    const retryAfterMs = known.retryAfterMs || 0;
    // A cancellation must not be retried.
    if (
      attempt >= attempts ||
      signal.aborted ||
      known.code === 'ABORTED' ||
      retryAfterMs > maxRetryAfterMs
    )
      return false;
    if (!(isTransient ? isTransient(error) : isWorthIt(known))) return false;
    const base = Math.min(firstDelayMs * 2 ** Math.min(attempt - 1, mostDoublings), maxDelayMs);
    const delayMs = Math.max(0, retryAfterMs, base + Math.trunc(base * 0.25 * (random() * 2 - 1)));
    tell(onRetry, {
      attempt,
      delayMs,
      error: AgentError.from(error, known.code),
      of,
      ...(run && { run }),
    });
    try {
      await abortable(Promise.resolve(sleep(delayMs, signal)), signal);
    } catch (failure) {
      throw signal.aborted ? AgentError.from(signal.reason, 'ABORTED') : failure;
    }
    return true;
  };
}

/** Returns whether to try again by default. Retrying an open breaker would defeat its purpose. */
function isWorthIt({ code, transient }: ErrorClass): boolean {
  return transient && code !== 'CIRCUIT_OPEN';
}
