import type { AgentResult } from '../../event/agent-result.ts';
import type { ParsedInput } from '../../event/agent-input.ts';
import type { CheckedInterrupt } from '../../event/interrupt-request.ts';
import { abortable } from '../../wait/abort.ts';
import type { KernelCallOptions } from '../kernel-options.ts';

/** An agent call that begins while another one runs. */
export interface JoiningCall {
  readonly input: ParsedInput;
  readonly options: KernelCallOptions;
  /** Signal that aborts with the new call. */
  readonly signal: AbortSignal;
  /** Result of the running call. */
  readonly result: Promise<AgentResult>;
  /** Passes the input through `wrapInput`, once. */
  readonly admit: () => Promise<ParsedInput>;
}

/** What middleware does with what others ask of a running agent call. */
export interface InboxHandler {
  /** Handles a request of `interrupt()`. Returns `undefined` to leave it to others. */
  interrupt?(request: CheckedInterrupt): boolean | undefined;
  /**
   * Handles a new agent call. Resolves with its result, or with `undefined` if the new call has to
   * wait for its turn. Rejects to refuse it. Returns `undefined` to leave it to others.
   */
  join?(call: JoiningCall): Promise<AgentResult | undefined> | undefined;
}

/** Offers a request to one handler. Returns `undefined` if the handler leaves it to others. */
type Offer<T> = (handler: InboxHandler) => T | undefined;

/** What others ask of a run: requests of `interrupt()`, and new agent calls. */
export class Inbox {
  readonly #handlers: InboxHandler[] = [];
  /** What no handler has taken yet. */
  readonly #left: Set<Offer<unknown>> = new Set();

  /** Adds a handler, which also gets what others have left. */
  add(handler: InboxHandler): void {
    this.#handlers.push(handler);
    for (const offer of this.#left) {
      if (offer(handler) !== undefined) this.#left.delete(offer);
    }
  }

  /** Offers a request to the handlers, in their order, until one does not leave it to others. */
  offer<T>(offer: Offer<T>): T | undefined {
    for (const handler of this.#handlers) {
      const answer = offer(handler);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }

  /** Keeps for later handlers what the present ones have left. */
  keep(offer: Offer<unknown>): void {
    this.#left.add(offer);
  }

  /**
   * Offers a new agent call until its turn. Resolves with its result, or with `undefined` if it has
   * to wait for its turn. Rejects if it is aborted, or with the error of the handler that refuses
   * it.
   */
  join(call: JoiningCall, queuedTurn: Promise<unknown>): Promise<AgentResult | undefined> {
    const joined = new Promise<AgentResult | undefined>((resolve, reject) => {
      const offer: Offer<unknown> = (handler) => {
        try {
          const answer = handler.join?.(call);
          if (answer) resolve(answer);
          return answer;
        } catch (error) {
          // Only the new call fails, not the run that adds a handler.
          reject(error);
          return true;
        }
      };
      if (this.offer(offer)) return;
      this.keep(offer);
      const withdraw = (): void => {
        this.#left.delete(offer);
        resolve(undefined);
      };
      call.signal.addEventListener('abort', withdraw);
      void queuedTurn.then(withdraw);
    });
    return abortable(joined, call.signal);
  }
}
