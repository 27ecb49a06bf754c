import { AgentError, type AgentErrorCode } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, nonNegative, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { classifyError } from '../error/classify-error.ts';
import { watchReply, type ReplyEnd } from '../model/reply/watch-reply.ts';
import { callListener } from '../error/report-failure.ts';
import { monotonicNow } from '../wait/monotonic.ts';
import { withStream, type ModelMiddleware } from '../model/wrap-model.ts';

/** Whether a circuit breaker lets requests pass. `half-open`: it tries one request. */
export type CircuitState = 'closed' | 'open' | 'half-open';

/** A change of the state of a circuit breaker. */
export interface CircuitChange {
  readonly from: CircuitState;
  readonly to: CircuitState;
  /** Failure that opened the breaker. Absent for other changes. */
  readonly error?: AgentError;
}

/** How many failures open a circuit breaker, and for how long. */
export interface CircuitBreakerOptions {
  /**
   * Number of failures in a row that open the breaker. Cancellations, guard rejections and invalid
   * requests (4xx, but not 408 and 429) do not count. Default: 5. Source: Arc Reactor.
   */
  readonly failures?: number;
  /** Time that the breaker stays open before it is half open, in milliseconds. Default: 30,000. */
  readonly openMs?: number;
  readonly onStateChange?: (change: CircuitChange) => void;
  /** Clock for durations, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

/** What `circuitBreaker()` returns: middleware that tells its state. */
export interface CircuitBreaker extends ModelMiddleware {
  readonly state: CircuitState;
  /** Closes the breaker and sets the count of failures to 0. */
  reset(): void;
}

/**
 * Errors that the request, its caller or an output guard causes. They say nothing about the health
 * of the model's server, so they do not count.
 */
const clientErrors: readonly AgentErrorCode[] = [
  'ABORTED',
  'MODEL_AUTH',
  'MODEL_REQUEST',
  'MODEL_CONTEXT_LENGTH',
  'INVALID_INPUT',
  'INVALID_MESSAGE',
  'CONFIGURATION',
  'GUARD_REJECTED',
];

/**
 * Stops requests to a model after several failures in a row. Requests then fail with `CIRCUIT_OPEN`
 * (retryable) until the model gets a trial request. Agents and models with the same breaker share
 * its state. Put the breaker before `retry()` in the list, so that all tries of a request count as
 * one. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function circuitBreaker(options: CircuitBreakerOptions = {}): CircuitBreaker {
  checkOptions('circuitBreaker()', options, circuitBreakerOptions);
  const { failures: maxFailures = 5, openMs = 30_000 } = options;
  const { onStateChange, now = monotonicNow } = options;
  let state: CircuitState = 'closed';
  let failureCount = 0;
  let openUntil = 0;
  /**
   * Requests since the last change of the state. The outcome of an earlier request does not count.
   */
  let period = { running: 0 };

  const move = (to: CircuitState, cause?: unknown): void => {
    const from = state;
    state = to;
    failureCount = 0;
    period = { running: 0 };
    if (from === to) return;
    const error = cause === undefined ? cause : AgentError.from(cause, classifyError(cause).code);
    callListener(onStateChange, { from, to, ...(error && { error }) });
  };
  const stateNow = (): CircuitState =>
    state === 'open' && openUntil <= now() ? 'half-open' : state;
  /** Lets a request through. Throws `CIRCUIT_OPEN` if it must not run. */
  const enter = (): typeof period => {
    if (state !== stateNow()) move('half-open');
    const isTrialRunning = state === 'half-open' && period.running > 0;
    if (state === 'open' || isTrialRunning) {
      // While a trial request runs, the wait is that after its failure.
      const retryAfterMs = isTrialRunning ? openMs : Math.ceil(openUntil - now());
      const message = 'The model failed too often. It gets no requests for a while.';
      const details = { retryAfterMs };
      throw new AgentError('CIRCUIT_OPEN', message, { retryable: true, details });
    }
    period.running += 1;
    return period;
  };
  const leave = (requestPeriod: typeof period, end: ReplyEnd): void => {
    if (requestPeriod !== period) return;
    period.running -= 1;
    if (end.type === 'ok') {
      failureCount = 0;
      if (state === 'half-open') move('closed');
    }
    if (end.type !== 'failed' || clientErrors.includes(classifyError(end.error).code)) return;
    failureCount += 1;
    if (state === 'closed' && failureCount < maxFailures) return;
    openUntil = now() + openMs;
    move('open', end.error);
  };
  return {
    name: 'circuitBreaker',
    wrapModel: (model) =>
      withStream(model, async function* (request, context) {
        const requestPeriod = enter();
        yield* watchReply(model, request, context, { end: (end) => leave(requestPeriod, end) });
      }),
    get state() {
      return stateNow();
    },
    reset: () => move('closed'),
  };
}

const circuitBreakerOptions: OptionTable<CircuitBreakerOptions> = {
  failures: optional(nonNegative),
  openMs: optional(nonNegative),
  onStateChange: optional(func),
  now: optional(func),
};
