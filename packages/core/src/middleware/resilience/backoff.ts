import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { classifyError, type ErrorClass } from '../../error/classify-error.ts';
import type { RunInfo } from '../../model/chat-model.ts';
import { abortable } from '../../model/abortable.ts';
import { tell } from '../../error/tell.ts';
import { wait } from '../../model/wait.ts';

export interface BackoffOptions {
  /** Tries in all; default 3 (Arc Reactor). */
  readonly attempts?: number;
  /** Milliseconds before the second try; doubled before each further one. Default 1000. */
  readonly firstDelayMs?: number;
  /** The longest of these waits, before jitter of up to a quarter more or less. Default 10 000. */
  readonly maxDelayMs?: number;
  /**
   * The longest `Retry-After` that is waited for; with a longer one the failure stands at once.
   * Default 60 000.
   */
  readonly maxRetryAfterMs?: number;
  /**
   * Whether a failure is worth another try; default: what `classifyError` calls transient, but an
   * open breaker.
   */
  readonly isTransient?: (error: unknown) => boolean;
  /** Told before each wait. */
  readonly onRetry?: (retry: Retry) => void;
  /**
   * Waits; default `setTimeout`. A raised signal ends the wait also where this does not listen to
   * it.
   */
  readonly sleep?: (ms: number, signal: AbortSignal) => PromiseLike<unknown>;
  /** From 0 to below 1; default `Math.random`. */
  readonly random?: () => number;
}

export interface Retry {
  /** The try that failed, from 1. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: AgentError;
  /** The model's id, or the tool's name. */
  readonly of: string;
  /** Whose it was; absent where no run asked. */
  readonly run?: RunInfo;
}

/** What failed. */
export interface FailedTry {
  readonly error: unknown;
  /** From 1. */
  readonly attempt: number;
  readonly of: string;
  readonly signal: AbortSignal;
  readonly run?: RunInfo | undefined;
}

/**
 * Waits and is true; or false, at once, where no other try is to be made. Rejects with the signal's
 * reason once it is raised.
 */
export type Backoff = (failed: FailedTry) => Promise<boolean>;

/** Beyond any wait; and nothing times infinity would be no number. */
const mostDoublings = 50;

/**
 * Exponential waits with jitter, as Arc Reactor has them. Throws `CONFIGURATION` for an option of
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
    // Another's error may carry anything.
    const retryAfterMs = known.retryAfterMs || 0;
    // A cancellation is nobody's to try again.
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

/** Whoever waited for a breaker would be what it keeps away. */
function isWorthIt({ code, transient }: ErrorClass): boolean {
  return transient && code !== 'CIRCUIT_OPEN';
}
