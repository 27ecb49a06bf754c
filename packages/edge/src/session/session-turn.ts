import {
  AgentError,
  SessionMemory,
  type Decision,
  type Memory,
  type Msg,
  type ReActAgent,
} from '@isoloop/core';
import { metadataOf } from '@isoloop/core/message';
import { isCutOff, resumptionOf, type Resumption } from '@isoloop/core/host';
import {
  lastRun,
  noQuestionError,
  beginChatTurn,
  readPendingCalls,
  type BeginTurnOptions,
  type TurnInput,
  type ChatTurnRequest,
} from '../turn/chat-turn.ts';
import { reopenCalls } from './reopen-calls.ts';
import { openAiOf } from './turn-format.ts';
import { acceptDecisions, noDecisionError } from '../turn/decisions.ts';
import type { HandlerSettings } from '../handler-options.ts';

/**
 * Request for a turn of a session, as plain JSON. `useChat` sends a `ChatTurnRequest`. Other
 * clients send new messages, decide about pending tool calls, or continue from the stored log.
 */
export type SessionTurnRequest =
  | ChatTurnRequest
  | (ContinuePoint & { readonly kind: 'messages'; readonly messages: readonly Msg[] })
  | (ContinuePoint & {
      readonly kind: 'decide';
      readonly decisions: readonly Decision[];
      /** Names of the request's fields with the decisions, for errors. */
      readonly params?: readonly string[];
    })
  | { readonly kind: 'continue' };

/** Point of a session from which a turn continues. */
export interface ContinuePoint {
  /**
   * `inputIdOf` the turn that must be the last one of the session. Default: the turn continues from
   * any state.
   */
  readonly afterInputId?: string;
}

/** Reads the log, removes the messages that the turn replaces, and returns the agent's input. */
export async function beginTurn(
  agent: ReActAgent,
  clientRequest: SessionTurnRequest,
  settings: HandlerSettings,
  options: BeginTurnOptions = {},
): Promise<TurnInput> {
  const { memory } = agent;
  const prepared = await settings.openai?.prepare(memory, clientRequest, settings);
  const request = prepared ?? clientRequest;
  // Reads the log in all cases, because `storeTitle` needs to know whether the session is new.
  await memory.read();
  switch (request.kind) {
    case 'messages':
      return { input: request.messages };
    case 'decide':
      if (request.decisions.every(({ type }) => type === 'result'))
        await reopenCalls(agent, request.decisions);
      return { input: await acceptDecisions(agent, request.decisions, request) };
    case 'continue':
      return { input: undefined };
    default:
      return beginChatTurn(agent, request, options);
  }
}

/**
 * Returns the agent's input to resume a turn that had begun when its isolate died. Returns
 * `undefined` if the turn had ended or was interrupted.
 */
export async function resumeTurn(
  agent: ReActAgent,
  sentRequest: SessionTurnRequest,
  settings: HandlerSettings,
): Promise<TurnInput | undefined> {
  const { memory } = agent;
  const request = withoutPoint(sentRequest);
  const storedMessages = await memory.read();
  const { openRunId, endReason, calls } = await lastRun(memory);
  const { type } = resumptionOf({ messages: storedMessages, openRunId });
  const sentIds = newMessageIds(request);
  const isMissing = sentIds.length > 0 && !storedMessages.some(({ id }) => sentIds.includes(id));
  const isOpen = openRunId !== undefined && endReason === undefined;
  const isOfRun = (message: Msg): boolean => metadataOf(message).runId === openRunId;
  // A run settles open tool calls before it stores the new message. If the isolate died between
  // these steps, the message is missing.
  if (isMissing && isOpen && !storedMessages.some(isOfRun))
    return beginTurn(agent, request, settings, { isResumed: true });
  if (isCutOff({ messages: storedMessages, openRunId, endReason })) return { input: undefined };
  if (type === 'interrupted' && isOpen)
    await memory.flush?.({ runId: openRunId, reason: 'interrupted', calls });
  const isDecision = request.kind === 'decisions' || request.kind === 'decide';
  if (isMissing || (isDecision && (await readPendingCalls(memory)).length))
    return beginTurn(agent, request, settings);
  return needsRun(request, type, storedMessages, endReason) ? { input: undefined } : undefined;
}

/** Returns whether the log waits for the answer to a turn, and no run has begun to give it. */
function needsRun(
  { kind }: SessionTurnRequest,
  type: Resumption['type'],
  storedMessages: readonly Msg[],
  endReason: string | undefined,
): boolean {
  // The isolate may have died before its run was in the log. An interrupt may be of that run.
  if (kind === 'continue') return type !== 'nothing' && type !== 'interrupted';
  if (kind === 'decisions' || kind === 'decide') return false;
  const isAsked = type === 'unanswered' && storedMessages.at(-1)?.role === 'user';
  return isAsked && (kind === 'regenerate' || endReason === undefined);
}

/**
 * Returns whether the turn replaces nothing in the log. Its messages are then new, and no earlier
 * run or tool call is open.
 */
export async function onlyAdds(request: SessionTurnRequest, memory: Memory): Promise<boolean> {
  const newIds = newMessageIds(request);
  if (!newIds.length || 'afterInputId' in request || !(memory instanceof SessionMemory))
    return false;
  try {
    const { messages, openRunId, calls } = await memory.view();
    return (
      openRunId === undefined && !calls.size && !messages.some(({ id }) => newIds.includes(id))
    );
  } catch {
    // The turn itself reports that the log cannot be read.
    return false;
  }
}

/** Throws if the first turn of a session has nothing to continue from. */
export function checkFirstTurn(request: SessionTurnRequest, settings: HandlerSettings): void {
  if ('afterInputId' in request) throw openAiOf(settings).unknownResponseError();
  if (request.kind === 'continue')
    throw new AgentError('INVALID_INPUT', 'The session has nothing to continue.');
  if (request.kind === 'decide') throw noDecisionError(request.params?.[0]);
  if (request.kind === 'decisions') throw noDecisionError();
  if (request.kind === 'regenerate' && !request.message) throw noQuestionError();
}

/**
 * Removes the point, which was checked when the turn began. The turn itself may have changed the
 * session since then.
 */
function withoutPoint(request: SessionTurnRequest): SessionTurnRequest {
  if (!('afterInputId' in request)) return request;
  const { afterInputId: _after, ...rest } = request;
  return rest;
}

/** Returns the messages that a client posted with its request. */
export function newMessages(request: SessionTurnRequest): readonly Msg[] {
  if (request.kind === 'messages') return request.messages;
  return 'message' in request && request.message ? [request.message] : [];
}

export function newMessageIds(request: SessionTurnRequest): readonly string[] {
  return newMessages(request).map(({ id }) => id);
}
