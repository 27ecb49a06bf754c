import { AgentError } from '../../error/agent-error.ts';
import type { Interruption } from './interruption.ts';
import type { Stopped } from '../run-context.ts';

/** Whether and how a run ends before its answer. */
type HaltState =
  | { readonly how: 'not' }
  /** It ends at the next interrupt point. */
  | { readonly how: 'interrupted'; readonly by: Interruption }
  /** A hook or a wrapper rejected the agent call before its input was stored. */
  | { readonly how: 'rejected'; readonly error: AgentError }
  | { readonly how: 'aborted' }
  | { readonly how: 'failed'; readonly error: AgentError };

/** What wins over what: a state replaces those before it. Of two equal ones, the first one counts. */
const order: readonly HaltState['how'][] = ['not', 'interrupted', 'rejected', 'aborted', 'failed'];

/** The part of a run that knows whether and how it ends before its answer, and tells others. */
export class Haltable {
  #state: HaltState = { how: 'not' };
  readonly #abort: AbortController = new AbortController();
  readonly #stop: AbortController = new AbortController();
  readonly #interrupt: AbortController = new AbortController();
  #request: AbortController | undefined;
  /** Aborts when the run is aborted, also by a failure. */
  readonly signal: AbortSignal = this.#abort.signal;
  /** Aborts when the run is aborted, interrupted or paused. */
  readonly stopSignal: AbortSignal = this.#stop.signal;
  /** Aborts when the run is interrupted and has to answer. An abort of the run does not abort it. */
  readonly interruptSignal: AbortSignal = this.#interrupt.signal;

  get stopped(): Stopped | undefined {
    return this.signal.aborted ? 'aborted' : this.interruption?.reason;
  }

  get interruption(): Interruption | undefined {
    return this.#state.how === 'interrupted' ? this.#state.by : undefined;
  }

  get rejection(): AgentError | undefined {
    return this.#state.how === 'rejected' ? this.#state.error : undefined;
  }

  /** The error to throw once the tool calls are closed. */
  get failure(): AgentError | undefined {
    return this.#state.how === 'failed' ? this.#state.error : undefined;
  }

  /** Ends the run in this way at its next interrupt point. */
  stopWith(by: Interruption): void {
    this.#become({ how: 'interrupted', by });
    this.#stopWaits();
    if (this.stopped === 'interrupted') this.#interrupt.abort();
  }

  /**
   * Refuses the agent call before it begins, for example because the agent is busy. Nothing runs
   * that would have to stop.
   */
  refuse(how: 'rejected' | 'failed', error: AgentError): void {
    this.#become({ how, error });
  }

  /** Stops everything at once. */
  abort(reason?: unknown): void {
    this.#become({ how: 'aborted' });
    this.#abort.abort(reason);
    this.#stopWaits(reason);
  }

  /** Stops everything at once, as an abort does, and makes the agent call fail. */
  fail(error: unknown): void {
    // An error after an abort is a consequence of the abort.
    if (this.signal.aborted) return;
    const failure = AgentError.from(error);
    this.#become({ how: 'failed', error: failure });
    this.abort(failure);
  }

  /** Returns the signal for one model request. Check `stopped` for an earlier abort or interrupt. */
  requestSignal(): AbortSignal {
    this.#request = new AbortController();
    return this.#request.signal;
  }

  #become(next: HaltState): void {
    if (order.indexOf(next.how) > order.indexOf(this.#state.how)) this.#state = next;
  }

  #stopWaits(reason?: unknown): void {
    this.#request?.abort(reason);
    this.#stop.abort(reason);
  }
}
