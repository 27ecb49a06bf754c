import type { AgentResult } from '../../event/agent-result.ts';
import {
  checkInterrupt,
  modesRequire,
  type InterruptRequest,
} from '../../event/interrupt-request.ts';
import type { Msg } from '../../message/msg.ts';
import { abortables } from '../../model/abortable.ts';
import { requirePart } from '../check-options.ts';
import type { NewCall } from './inbox.ts';
import type { Run } from './run.ts';

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
