import {
  checkInterrupt,
  modesRequire,
  type CheckedRequest,
  type InterruptRequest,
} from '../../event/interrupt-request.ts';
import type { Msg } from '../../message/msg.ts';
import { requirePart } from '../check-options.ts';
import { runOf, type RunContext } from '../run-context.ts';
import type { Run } from './run.ts';

/** How an interrupt ends a run. */
export type Interruption =
  /** With an answer. Default of `message`: the agent's recovery message. */
  | { readonly reason: 'interrupted'; readonly message?: Msg | undefined }
  /** Without an answer. Open tool calls stay open, and the next agent call continues. */
  | { readonly reason: 'suspended' };

/** Handles an interrupt request. Returns `undefined` to leave it to others. */
export type TakeRequest = (request: CheckedRequest) => boolean | undefined;

/**
 * Asks a run to stop at its next interrupt point, or passes the request to the middleware that
 * takes it. Returns false if the run is about to end. Throws `INVALID_INPUT` for an invalid
 * request.
 */
export function interruptRun(run: Run, given: string | Msg | InterruptRequest): boolean {
  const request = checkInterrupt(given, run.options);
  if (run.stage !== 'running') return false;
  for (const take of run.onInterrupt) {
    const isTaken = take(request);
    if (isTaken !== undefined) return isTaken;
  }
  if (request.mode === 'stop') {
    run.stopWith({ reason: 'interrupted', message: request.message });
    return true;
  }
  requirePart(run.setup.use, modesRequire, `interrupt({ mode: '${request.mode}' })`);
  // The middleware has not begun.
  run.earlyRequests.push(request);
  return true;
}

/** Returns whether the agent was asked, while it was idle, to pause this run. Says so only once. */
export function takePause(context: RunContext): boolean {
  const { status } = runOf(context);
  const { pauseNext = false } = status;
  status.pauseNext = false;
  return pauseNext;
}
