import { AgentError, checkOptions } from '../../error/agent-error.ts';
import { classifyError } from '../../error/classify-error.ts';
import { callListener } from '../../error/report-failure.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { runInfo, type RunInfo } from '../../model/chat-model.ts';
import { withStream, type ModelMiddleware } from '../../model/wrap-model.ts';
import { withExecute, isSuspension } from '../../tool/tool-call.ts';
import { abortable } from '../../wait/abort.ts';
import { sleepFor } from '../../wait/timer.ts';
import { tryEach } from './try-each.ts';

/** How often to try again, and how long to wait before each try. */
export interface RetryDelayOptions {
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
  readonly onRetry?: (retry: RetryInfo) => void;
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

const retryDelayFields =
  'attempts,firstDelayMs,maxDelayMs,maxRetryAfterMs:nonNegative|? ' +
  'isTransient,onRetry,sleep,random:function|?';

/** A failed try, before it is known whether another one follows. */
interface FailedTry extends Pick<RetryInfo, 'attempt' | 'target'> {
  readonly error: unknown;
  readonly run: RunInfo | undefined;
}

/**
 * Returns a function that decides whether to try again. It resolves to true after the wait, or to
 * false at once if the failure is final. It rejects with the signal's reason when the signal
 * aborts. The waits grow exponentially, with random jitter, as in Arc Reactor.
 */
function retryWaiter(
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
    if (!(isTransient ? isTransient(error) : isWorthRetry)) return false;
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

/** How often `retry()` asks again, after which errors, and who is told. */
export interface RetryOptions extends RetryDelayOptions {
  /**
   * Whether to ask again if a reply fails after its first delta. A `reset` delta then discards the
   * text so far; readers get a `step-reset`. Default false: the request fails.
   */
  readonly afterFirstDelta?: boolean;
}

/**
 * Asks the model again after a transient failure. Waits 1 s, 2 s, 4 s and so on, or as long as the
 * server says in `Retry-After`. A cancellation ends the wait at once and is never retried. Throws
 * `CONFIGURATION` for an option of the wrong kind.
 */
export function retry(options: RetryOptions = {}): ModelMiddleware {
  checkOptions('retry()', options, `${retryDelayFields} afterFirstDelta:boolean|?`);
  const waitForRetry = retryWaiter(options);
  const { afterFirstDelta = false } = options;
  return {
    name: 'retry',
    wrapModel: (model) =>
      withStream(model, (request, context) => {
        const { signal, run } = context;
        const target = { model, request };
        return tryEach(target, context, 'retry', async ({ error, attempt: count, hasBegun }) => {
          if (hasBegun && !afterFirstDelta) return undefined;
          const failure = { error, attempt: count, target: model.modelId, run };
          const isRetried = await waitForRetry(failure, signal);
          return isRetried ? target : undefined;
        });
      }),
  };
}

/** How often `toolRetry()` runs a tool again, and after which errors. */
export interface ToolRetryOptions extends RetryDelayOptions {
  /** Names of the tools to retry. Default: all tools. */
  readonly tools?: readonly string[];
  /**
   * Returns whether to try again after a failure. Default: if the tool threw an `AgentError` with
   * `retryable: true`.
   */
  readonly isTransient?: (error: unknown) => boolean;
}

/**
 * Runs a tool again after a transient failure. The model gets the result of the last try. All tries
 * share the tool's `timeoutMs` and its `idempotencyKey`. A tool that suspends or was aborted does
 * not run again. After an interrupt no tool runs again. Throws `CONFIGURATION` for an option of the
 * wrong kind.
 */
export function toolRetry(options: ToolRetryOptions = {}): Middleware {
  checkOptions('toolRetry()', options, `${retryDelayFields} tools:names|?`);
  const { tools, isTransient = isMarked } = options;
  const waitForRetry = retryWaiter({
    ...options,
    isTransient: (error) => !isSuspension(error) && isTransient(error),
  });
  return {
    name: 'toolRetry',
    wrapTool: (next) => (call, run) => {
      const { name } = call.tool;
      if (tools && !tools.includes(name)) return next(call);
      const retriedCall = withExecute(call, async (execute, input, context) => {
        for (let attempt = 1; ; attempt += 1) {
          try {
            return await execute(input, context);
          } catch (error) {
            const { signal, interruptSignal = signal } = context;
            const eitherSignal = AbortSignal.any([signal, interruptSignal]);
            const failure = { error, attempt, target: name, run };
            const isRetried = await waitForRetry(failure, eitherSignal).catch((thrown: unknown) => {
              if (signal.aborted || !interruptSignal.aborted) throw thrown;
              return false;
            });
            if (!isRetried) throw error;
          }
        }
      });
      return next(retriedCall);
    },
  };
}

function isMarked(error: unknown): boolean {
  return AgentError.is(error) && error.retryable;
}
