import { AgentError } from '../../error/agent-error.ts';
import { classifyError, type ErrorClass } from '../../error/classify-error.ts';
import { runInfo, type RunInfo } from '../../model/chat-model.ts';
import { abortable, wait } from '../../wait/wait.ts';
import { tell } from '../../error/report-failure.ts';

/** How often to try again, and how long to wait before each try. */
export interface BackoffOptions {
  /** Maximum number of tries, including the first. Default: 3, as in Arc Reactor. */
  readonly attempts?: number;
  /**
   * Wait before the second try, in milliseconds. It doubles before each further try. Default 1000.
   */
  readonly firstDelayMs?: number;
  /**
   * Maximum of these waits, in milliseconds. A random part of at most a quarter is then added or
   * subtracted. Default 10 000.
   */
  readonly maxDelayMs?: number;
  /**
   * Maximum `Retry-After` to wait for, in milliseconds. If the server asks for a longer wait, the
   * request fails at once. Default 60 000.
   */
  readonly maxRetryAfterMs?: number;
  /**
   * Returns whether to try again after a failure. Default: tries again if `classifyError` calls the
   * failure transient, except for an open circuit breaker.
   */
  readonly isTransient?: (error: unknown) => boolean;
  /** Function that is called before each wait. */
  readonly onRetry?: (retry: Retry) => void;
  /**
   * Function that waits. Default: uses `setTimeout`. If the signal aborts, the wait ends even if
   * this function ignores the signal.
   */
  readonly sleep?: (ms: number, signal: AbortSignal) => PromiseLike<unknown>;
  /**
   * Returns a random number, at least 0 and less than 1, for the random part of the wait. Default
   * `Math.random`.
   */
  readonly random?: () => number;
}

/** A failure after which another try follows. */
export interface Retry {
  /** Number of the failed try. The first try has number 1. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: AgentError;
  /** Id of the model, or name of the tool. */
  readonly of: string;
  /** Run that made the request or tool call. Absent if it was made outside a run. */
  readonly run?: RunInfo;
}

/** A failed try. */
export interface FailedTry {
  readonly error: unknown;
  /** Number of the failed try. The first try has number 1. */
  readonly attempt: number;
  readonly of: string;
  readonly signal: AbortSignal;
  readonly run?: RunInfo | undefined;
}

/**
 * Decides whether to try again. Resolves to true after the wait, or to false at once if the failure
 * is final. Rejects with the signal's reason when the signal aborts.
 */
export type Backoff = (failed: FailedTry) => Promise<boolean>;

/** Fields of `BackoffOptions` for `checkOptions`. */
export const backoffFields =
  'attempts,firstDelayMs,maxDelayMs,maxRetryAfterMs:count|? isTransient,onRetry,sleep,random:function|?';

/** Maximum exponent of the wait. Without it, `firstDelayMs` 0 times infinity would be NaN. */
const mostDoublings = 50;

/**
 * Returns a function that waits between tries, exponentially longer and with random jitter, as Arc
 * Reactor does.
 */
export function backoff(options: BackoffOptions): Backoff {
  const { attempts = 3, firstDelayMs = 1_000, maxDelayMs = 10_000 } = options;
  const { maxRetryAfterMs = 60_000, isTransient, onRetry } = options;
  const { sleep = wait, random = Math.random } = options;
  return async ({ error, attempt, of, signal, run }) => {
    const known = classifyError(error);
    // Errors of other code may have any value in `retryAfterMs`.
    const retryAfterMs = known.retryAfterMs || 0;
    // A cancellation must not be retried, and a longer wait than allowed makes the failure final.
    const isAborted = signal.aborted || known.code === 'ABORTED';
    if (isAborted || attempt >= attempts || retryAfterMs > maxRetryAfterMs) return false;
    if (!(isTransient ? isTransient(error) : isWorthIt(known))) return false;
    const base = Math.min(firstDelayMs * 2 ** Math.min(attempt - 1, mostDoublings), maxDelayMs);
    const delayMs = Math.max(0, retryAfterMs, base + Math.trunc(base * 0.25 * (random() * 2 - 1)));
    const failure = AgentError.from(error, known.code);
    tell(onRetry, { attempt, delayMs, error: failure, of, ...(run && { run: runInfo(run) }) });
    try {
      await abortable(Promise.resolve(sleep(delayMs, signal)), signal);
    } catch (thrown) {
      throw signal.aborted ? AgentError.from(signal.reason, 'ABORTED') : thrown;
    }
    return true;
  };
}

/**
 * Returns whether to try again by default. An open circuit breaker must not be retried: it exists
 * to stop requests.
 */
function isWorthIt({ code, transient }: ErrorClass): boolean {
  return transient && code !== 'CIRCUIT_OPEN';
}
