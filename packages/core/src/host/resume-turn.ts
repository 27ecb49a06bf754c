import type { Agent } from '../agent/agent.ts';
import type { CallState } from '../event/agent-status.ts';
import { isCutOff, resumptionOf, type Resumption } from '../memory/log/resumption.ts';
import { metadataOf } from '../message/metadata.ts';
import type { Msg, ToolUse } from '../message/msg.ts';
import type { BeginTurnOptions, TurnInput } from './begin-turn.ts';
import { lastRun, pendingCallsOf } from './stored-view.ts';
import { newMessageIds, type TurnRequest } from './turn-request.ts';

/**
 * Returns the agent's input to resume a turn that had begun when its process died. Returns
 * `undefined` if the turn had ended or was interrupted. `begin` begins the turn again, if the log
 * has too little of it.
 */
export async function resumeTurn(
  { memory }: Pick<Agent, 'memory'>,
  request: TurnRequest,
  begin: (options?: BeginTurnOptions) => Promise<TurnInput>,
): Promise<TurnInput | undefined> {
  const storedMessages = await memory.read();
  const { openRunId, endReason, calls } = await lastRun(memory);
  const { type } = resumptionOf({ messages: storedMessages, openRunId });
  const sentIds = newMessageIds(request);
  const isMissing = sentIds.length > 0 && !storedMessages.some(({ id }) => sentIds.includes(id));
  const isOpen = openRunId !== undefined && endReason === undefined;
  const isOfRun = (message: Msg): boolean => metadataOf(message).runId === openRunId;
  // A run closes open tool calls before it stores the new message. If the process died between
  // these steps, the message is missing.
  if (isMissing && isOpen && !storedMessages.some(isOfRun))
    return begin({ isToolGone: hasStarted });
  if (isCutOff({ messages: storedMessages, openRunId, endReason })) return { input: undefined };
  if (type === 'interrupted' && isOpen)
    await memory.flush?.({ runId: openRunId, reason: 'interrupted', calls });
  const isDecision = request.kind === 'decisions' || request.kind === 'decide';
  if (isMissing || (isDecision && (await pendingCallsOf({ memory })).length)) return begin();
  return needsRun(request, type, storedMessages, endReason) ? { input: undefined } : undefined;
}

/** Returns whether a tool call ran in the process that died. Nobody has its result. */
function hasStarted(_toolUse: ToolUse, { started, pending }: CallState): boolean {
  return started === true && !pending;
}

/** Returns whether the log waits for the answer to a turn, and no run has begun to give it. */
function needsRun(
  { kind }: TurnRequest,
  type: Resumption['type'],
  storedMessages: readonly Msg[],
  endReason: string | undefined,
): boolean {
  // The process may have died before its run was in the log. An interrupt may be of that run.
  if (kind === 'continue') return type !== 'nothing' && type !== 'interrupted';
  if (kind === 'decisions' || kind === 'decide') return false;
  const isAsked = type === 'unanswered' && storedMessages.at(-1)?.role === 'user';
  return isAsked && (kind === 'regenerate' || endReason === undefined);
}
