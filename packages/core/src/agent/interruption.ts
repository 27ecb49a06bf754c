import { AgentError } from '../error/agent-error.ts';
import { toCallInput, type AgentInput } from '../event/call-input.ts';
import {
  modesRequire,
  toInterruptRequest,
  type InterruptRequest,
} from '../event/interrupt-request.ts';
import type { MessageContext } from '../message/create-message.ts';
import type { Msg } from '../message/msg.ts';
import { requirePart } from './check-options.ts';
import { runOf, type RunContext } from './run-context.ts';
import type { Run } from './run.ts';

/** How an interrupt ends a run. */
export type Interruption =
  /** With an answer. Default of `message`: the agent's recovery message. */
  | { readonly reason: 'interrupted'; readonly message?: Msg | undefined }
  /** Without an answer. Open tool calls stay open, and the next agent call continues. */
  | { readonly reason: 'suspended' };

/** A valid request of `interrupt()`, with its texts as messages. */
export type CheckedRequest =
  | { readonly mode: 'stop'; readonly message: Msg | undefined }
  | { readonly mode: 'pause' }
  | { readonly mode: 'inject'; readonly messages: readonly Msg[] };

/** Handles an interrupt request. Returns `undefined` to leave it to others. */
export type TakeRequest = (request: CheckedRequest) => boolean | undefined;

/**
 * Asks a run to stop at its next interrupt point, or passes the request to the middleware that
 * takes it. Returns false if the run is about to end. Throws `INVALID_INPUT` for an invalid
 * request.
 */
export function interruptRun(run: Run, given: string | Msg | InterruptRequest): boolean {
  const request = checkInterrupt(given, run.setup);
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
  const { status } = runOf(context).setup;
  const { pauseNext = false } = status;
  status.pauseNext = false;
  return pauseNext;
}

/**
 * Checks a request of `interrupt()`. Throws `INVALID_INPUT` for an invalid request, or if the answer
 * contains a tool call or a tool result.
 */
export function checkInterrupt(
  given: string | Msg | InterruptRequest,
  context: Required<MessageContext>,
): CheckedRequest {
  const request = toInterruptRequest(given);
  if (request.mode === 'pause') return { mode: 'pause' };
  if (request.mode === 'inject')
    return { mode: 'inject', messages: toMessages(request.messages, context) };
  const [message] = toMessages(request.message, context);
  if (message?.content.some(({ type }) => type.startsWith('tool_')))
    throw new AgentError('INVALID_INPUT', 'interrupt(): the message must not have tool blocks.');
  return { mode: 'stop', message };
}

/**
 * Converts the input to messages. Throws `INVALID_INPUT` if the input contains anything else, such
 * as decisions.
 */
export function toMessages(
  input: AgentInput | undefined,
  context: Required<MessageContext>,
): readonly Msg[] {
  const { messages, decisions } = toCallInput(input, context);
  if (decisions.length)
    throw new AgentError('INVALID_INPUT', 'Only `call` and `stream` take decisions.');
  return messages;
}
