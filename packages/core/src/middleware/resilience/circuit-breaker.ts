import { AgentError, type AgentErrorCode } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { classifyError } from '../../error/classify-error.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import { tell } from '../../error/tell.ts';
import { withStream, type ModelMiddleware } from '../../model/wrap-model.ts';

export type CircuitState = 'closed' | 'open' | 'half-open';

export interface CircuitChange {
  readonly from: CircuitState;
  readonly to: CircuitState;
  /** The failure that opened the breaker. */
  readonly error?: AgentError;
}

export interface CircuitBreakerOptions {
  /** Number of failures in a row that open the breaker; default 5 (Arc Reactor). */
  readonly failures?: number;
  /** Time that the breaker stays open, in milliseconds; then it is half open. Default 30 000. */
  readonly openMs?: number;
  /**
   * Number of requests that a half-open breaker lets through at the same time, and that must
   * succeed to close it. One failure opens it again. Default 1.
   */
  readonly halfOpenTrials?: number;
  /**
   * Whether an error counts. Default: all except cancellations, guard rejections and invalid
   * requests (4xx, but not 408 and 429).
   */
  readonly isFailure?: (error: unknown) => boolean;
  readonly onStateChange?: (change: CircuitChange) => void;
  /** Any clock in milliseconds; default `Date.now`. */
  readonly now?: () => number;
}

export interface CircuitBreaker extends ModelMiddleware {
  readonly state: CircuitState;
  /** Closes the breaker and forgets all failures. */
  reset(): void;
}

/** Errors that the request, its caller or an output guard causes: the model server is healthy. */
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
 * Stops requests to a model after several failures in a row. They fail with `CIRCUIT_OPEN`,
 * retryable, until the model is tried again. One breaker guards all agents and models that it is
 * given to. Place it around `retry()`, so that a whole sequence of tries counts once. Throws
 * `CONFIGURATION` for an option of the wrong kind.
 */
export function circuitBreaker(options: CircuitBreakerOptions = {}): CircuitBreaker {
  const kinds =
    'failures:count|? openMs:count|? halfOpenTrials:count|? isFailure:function|? onStateChange:function|? now:function|?';
  checkFields('CONFIGURATION', 'circuitBreaker()', options, kinds);
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
  // A model that ignores the signal must not keep its place as the only trial.
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
  /** Increases with each change of state, so that results of earlier requests are ignored. */
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
   * Lets a request through and returns a callback for its outcome, which counts once. Throws
   * `CIRCUIT_OPEN`.
   */
  enter(): (outcome: Outcome) => void {
    if (this.#state === 'open' && this.#wait <= 0) this.move('half-open');
    const isTrial = this.#state === 'half-open';
    const { halfOpenTrials = 1, openMs = 30_000 } = this.#options;
    if (this.#state === 'open' || (isTrial && this.#trials >= Math.max(1, halfOpenTrials))) {
      // When half open, the time depends on the trial: none if it succeeds, else `openMs` from its
      // end.
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
