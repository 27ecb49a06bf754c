import { AgentError, type AgentErrorCode } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/check-fields.ts';
import { classifyError } from '../../error/classify-error.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import { tell } from '../../error/report-failure.ts';
import { withStream, type ModelMiddleware } from '../../model/wrap-model.ts';

export type CircuitState = 'closed' | 'open' | 'half-open';

export interface CircuitChange {
  readonly from: CircuitState;
  readonly to: CircuitState;
  /** Failure that opened the breaker. Absent for other changes. */
  readonly error?: AgentError;
}

export interface CircuitBreakerOptions {
  /** Number of failures in a row that open the breaker. Default: 5, as in Arc Reactor. */
  readonly failures?: number;
  /** Time that the breaker stays open before it is half open, in milliseconds. Default 30 000. */
  readonly openMs?: number;
  /**
   * Number of trial requests in the half-open state: this many may run at the same time and must
   * succeed to close the breaker. One failure opens the breaker again. Default 1.
   */
  readonly halfOpenTrials?: number;
  /**
   * Returns whether an error counts as a failure. Default: all errors except cancellations, guard
   * rejections and invalid requests (4xx, but not 408 and 429).
   */
  readonly isFailure?: (error: unknown) => boolean;
  readonly onStateChange?: (change: CircuitChange) => void;
  /** Returns the time of any clock, in milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

export interface CircuitBreaker extends ModelMiddleware {
  readonly state: CircuitState;
  /** Closes the breaker and sets the count of failures to 0. */
  reset(): void;
}

/**
 * Errors that the request, its caller or an output guard causes. They say nothing about the health
 * of the model's server.
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

type Outcome =
  | { readonly type: 'success' | 'none' }
  | { readonly type: 'failure'; readonly error: unknown };

/**
 * Stops requests to a model after several failures in a row. Requests then fail with `CIRCUIT_OPEN`
 * (retryable) until the model gets a trial request. Agents and models with the same breaker share
 * its state. Put the breaker before `retry()` in the list, so that all tries of a request count as
 * one. Throws `CONFIGURATION` for an option of the wrong kind.
 */
export function circuitBreaker(options: CircuitBreakerOptions = {}): CircuitBreaker {
  const kinds =
    'failures:count|? openMs:count|? halfOpenTrials:count|? isFailure:function|? onStateChange:function|? now:function|?';
  checkOptions('CONFIGURATION', 'circuitBreaker()', options, kinds);
  const circuit = new Circuit(options);
  return {
    name: 'circuitBreaker',
    wrapModel: (model) =>
      withStream(model, (request, context) => guarded(circuit, model, request, context)),
    get state() {
      return circuit.state;
    },
    reset: () => circuit.move('closed'),
  };
}

async function* guarded(
  circuit: Circuit,
  model: ChatModel,
  request: ModelRequest,
  context: ModelContext,
): AsyncGenerator<readonly ModelDelta[], void> {
  const { signal } = context;
  const settle = circuit.enter();
  // An aborted trial frees its place, even if the model ignores the signal.
  const leave = (): void => settle({ type: 'none' });
  signal.addEventListener('abort', leave);
  try {
    yield* model.stream(request, context);
    settle({ type: 'success' });
  } catch (error) {
    settle(signal.aborted ? { type: 'none' } : { type: 'failure', error });
    throw error;
  } finally {
    leave();
    signal.removeEventListener('abort', leave);
  }
}

class Circuit {
  readonly #options: CircuitBreakerOptions;
  #state: CircuitState = 'closed';
  /**
   * Number of state changes. The outcome of a request that began before the last change is ignored.
   */
  #era = 0;
  #failures = 0;
  #successes = 0;
  #trials = 0;
  #openUntil = 0;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  get state(): CircuitState {
    return this.#state === 'open' && this.#wait <= 0 ? 'half-open' : this.#state;
  }

  get #wait(): number {
    return this.#openUntil - (this.#options.now ?? Date.now)();
  }

  /**
   * Lets a request through and returns a function that takes its outcome once. Throws
   * `CIRCUIT_OPEN` if the request must not run.
   */
  enter(): (outcome: Outcome) => void {
    if (this.#state === 'open' && this.#wait <= 0) this.move('half-open');
    const isTrial = this.#state === 'half-open';
    const { halfOpenTrials = 1, openMs = 30_000 } = this.#options;
    if (this.#state === 'open' || (isTrial && this.#trials >= Math.max(1, halfOpenTrials))) {
      // In the half-open state, the wait depends on the trial request. `openMs` is the wait after a
      // failed trial.
      const retryAfterMs = isTrial ? openMs : this.#wait;
      throw new AgentError(
        'CIRCUIT_OPEN',
        'The model failed too often. It gets no requests for a while.',
        {
          retryable: true,
          details: { retryAfterMs },
        },
      );
    }
    const era = this.#era;
    this.#trials += 1;
    let isSettled = false;
    return (outcome) => {
      if (isSettled) return;
      isSettled = true;
      if (era === this.#era) this.#settle(outcome);
    };
  }

  move(to: CircuitState, cause?: unknown): void {
    const from = this.#state;
    this.#state = to;
    this.#era += 1;
    this.#failures = this.#successes = this.#trials = 0;
    if (from === to) return;
    const error =
      cause === undefined ? {} : { error: AgentError.from(cause, classifyError(cause).code) };
    tell(this.#options.onStateChange, { from, to, ...error });
  }

  #settle(outcome: Outcome): void {
    const {
      failures = 5,
      openMs = 30_000,
      halfOpenTrials = 1,
      isFailure = countsByDefault,
      now = Date.now,
    } = this.#options;
    this.#trials -= 1;
    if (outcome.type === 'success') {
      this.#failures = 0;
      this.#successes += 1;
      if (this.#state === 'half-open' && this.#successes >= halfOpenTrials) this.move('closed');
    } else if (outcome.type === 'failure' && isFailure(outcome.error)) {
      this.#failures += 1;
      if (this.#state === 'closed' && this.#failures < failures) return;
      this.#openUntil = now() + openMs;
      this.move('open', outcome.error);
    }
  }
}

function countsByDefault(error: unknown): boolean {
  return !clientErrors.includes(classifyError(error).code);
}
