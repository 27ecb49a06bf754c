import { AgentError, checkOptions, type AgentErrorCode } from '../../error/agent-error.ts';
import { classifyError } from '../../error/classify-error.ts';
import { watchReply, type ReplyEnd } from '../../model/watch-reply.ts';
import { tell } from '../../error/report-failure.ts';
import { withStream, type ModelMiddleware } from '../../model/wrap-model.ts';

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
   * requests (4xx, but not 408 and 429) do not count. Default: 5, as in Arc Reactor.
   */
  readonly failures?: number;
  /** Time that the breaker stays open before it is half open, in milliseconds. Default 30 000. */
  readonly openMs?: number;
  readonly onStateChange?: (change: CircuitChange) => void;
  /** Returns the time of any clock, in milliseconds. Default `Date.now`. */
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
  checkOptions('circuitBreaker()', options, 'failures,openMs:count|? onStateChange,now:function|?');
  const circuit = new Circuit(options);
  return {
    name: 'circuitBreaker',
    wrapModel: (model) =>
      withStream(model, async function* (request, context) {
        const pass = circuit.enter();
        yield* watchReply(model, request, context, { end: (end) => circuit.leave(pass, end) });
      }),
    get state() {
      return circuit.state;
    },
    reset: () => circuit.move('closed'),
  };
}

/**
 * A request that the circuit let through. Its outcome does not count after the next change of the
 * circuit's state.
 */
type Pass = object;

class Circuit {
  readonly #options: CircuitBreakerOptions;
  #state: CircuitState = 'closed';
  #failures = 0;
  #openUntil = 0;
  /** The running requests since the last change of the state. */
  #passes: Set<Pass> = new Set();

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  get state(): CircuitState {
    return this.#state === 'open' && this.#waitMs <= 0 ? 'half-open' : this.#state;
  }

  get #waitMs(): number {
    return this.#openUntil - (this.#options.now ?? Date.now)();
  }

  /** Lets a request through. Throws `CIRCUIT_OPEN` if it must not run. */
  enter(): Pass {
    if (this.#state === 'open' && this.#waitMs <= 0) this.move('half-open');
    const isTrialRunning = this.#state === 'half-open' && this.#passes.size > 0;
    if (this.#state === 'open' || isTrialRunning) {
      // While a trial request runs, the wait is that after its failure.
      const { openMs = usualOpenMs } = this.#options;
      const retryAfterMs = isTrialRunning ? openMs : this.#waitMs;
      const message = 'The model failed too often. It gets no requests for a while.';
      const options = { retryable: true, details: { retryAfterMs } };
      throw new AgentError('CIRCUIT_OPEN', message, options);
    }
    const pass: Pass = {};
    this.#passes.add(pass);
    return pass;
  }

  /** Takes the outcome of a request. */
  leave(pass: Pass, end: ReplyEnd): void {
    if (!this.#passes.delete(pass)) return;
    if (end.type === 'ok') this.#succeed();
    if (end.type === 'failed' && isFailure(end.error)) this.#fail(end.error);
  }

  #succeed(): void {
    this.#failures = 0;
    if (this.#state === 'half-open') this.move('closed');
  }

  #fail(error: unknown): void {
    const { failures = 5, openMs = usualOpenMs, now = Date.now } = this.#options;
    this.#failures += 1;
    if (this.#state === 'closed' && this.#failures < failures) return;
    this.#openUntil = now() + openMs;
    this.move('open', error);
  }

  move(to: CircuitState, cause?: unknown): void {
    const from = this.#state;
    this.#state = to;
    this.#failures = 0;
    this.#passes = new Set();
    if (from === to) return;
    const error = cause === undefined ? cause : AgentError.from(cause, classifyError(cause).code);
    tell(this.#options.onStateChange, { from, to, ...(error && { error }) });
  }
}

const usualOpenMs = 30_000;

function isFailure(error: unknown): boolean {
  return !clientErrors.includes(classifyError(error).code);
}
