import type { AgentResult } from '../../event/agent-result.ts';
import type { CallInput } from '../../event/call-input.ts';
import type { CheckedRequest } from '../../event/interrupt-request.ts';
import type { KernelCallOptions } from '../kernel-options.ts';

/** An agent call that begins while another one runs. */
export interface NewCall {
  readonly input: CallInput;
  readonly options: KernelCallOptions;
  /** Signal that aborts with the new call. */
  readonly signal: AbortSignal;
  /** Result of the running call. */
  readonly result: Promise<AgentResult>;
  /** Passes the input through `wrapInput`, once. */
  readonly admit: () => Promise<CallInput>;
}

/** What middleware does with what others ask of a running agent call. */
export interface Taker {
  /** Handles a request of `interrupt()`. Returns `undefined` to leave it to others. */
  interrupt?(request: CheckedRequest): boolean | undefined;
  /**
   * Handles a new agent call. Resolves with its result, or with `undefined` if the new call has to
   * wait for its turn. Rejects to refuse it. Returns `undefined` to leave it to others.
   */
  call?(call: NewCall): Promise<AgentResult | undefined> | undefined;
}

/** What others ask of a run: requests of `interrupt()`, and new agent calls. */
export class Inbox {
  readonly #takers: Taker[] = [];
  readonly #offers: ((taker: Taker) => void)[] = [];

  /** Offers something to all takers, also to those that come later. */
  offer(offer: (taker: Taker) => void): void {
    this.#takers.forEach(offer);
    this.#offers.push(offer);
  }

  open(taker: Taker): void {
    this.#takers.push(taker);
    for (const offer of this.#offers) offer(taker);
  }
}
