import type { AgentResult } from '../../event/agent-result.ts';
import type { CallInput } from '../../event/call-input.ts';
import {
  checkInterrupt,
  modesRequire,
  type CheckedRequest,
  type InterruptRequest,
} from '../../event/interrupt-request.ts';
import type { Msg } from '../../message/msg.ts';
import { abortables } from '../../wait/abortable.ts';
import { requirePart } from '../check-options.ts';
import type { KernelCallOptions } from '../kernel-options.ts';
import type { Run } from './run.ts';

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

  /** Adds a taker, which also gets the earlier offers. */
  add(taker: Taker): void {
    this.#takers.push(taker);
    for (const offer of this.#offers) offer(taker);
  }
}

/**
 * Asks a run to stop at its next interrupt point, or passes the request to the middleware that
 * takes it. Returns false if the run is about to end. Throws `INVALID_INPUT` for an invalid
 * request.
 */
export function interruptRun(run: Run, given: string | Msg | InterruptRequest): boolean {
  const request = checkInterrupt(given, run.options);
  if (run.stage !== 'running') return false;
  let isTaken: boolean | undefined;
  run.inbox.offer((taker) => void (isTaken ??= taker.interrupt?.(request)));
  if (isTaken !== undefined) return isTaken;
  if (request.mode === 'stop') {
    isTaken = true;
    run.stopWith({ how: 'interrupted', message: request.message });
    return true;
  }
  requirePart(run.setup.use, modesRequire, `interrupt({ mode: '${request.mode}' })`);
  return true;
}

/**
 * Offers a new agent call to the middleware of the running one, until the turn of the new call.
 * Resolves with the result of the new call, or with `undefined` if it has to wait for its turn.
 * Rejects if the new call is refused or aborted.
 */
export async function offerCall(
  { inbox, stage }: Run,
  call: NewCall,
  turn: Promise<unknown>,
): Promise<AgentResult | undefined> {
  if (stage !== 'running') return undefined;
  let taken: Promise<unknown> | undefined;
  const joined = new Promise((resolve) => {
    inbox.offer((taker) => {
      taken ??= taker.call?.(call);
      if (taken) resolve(taken);
    });
  });
  try {
    await abortables(call.signal)(Promise.race([joined, turn]));
    return (await taken) as AgentResult | undefined;
  } finally {
    // Nobody takes it later.
    taken ??= turn;
  }
}
