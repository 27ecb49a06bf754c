import { AgentError } from '../error/agent-error.ts';
import type { AgentInput } from '../event/agent-input.ts';
import type { Decision } from '../event/pending-call.ts';
import type { Msg } from '../message/msg.ts';
import { isQuestion } from '../message/conversation/turns.ts';
import { decideForMessage, type DecideForMessageOptions } from '../approval/decide-for-message.ts';
import { acceptDecisions, usableDecisions, type DecidingAgent } from './client-decisions.ts';
import { noQuestionError, type TurnRequest } from './turn-request.ts';

/** Input of the agent for a turn. */
export interface TurnInput {
  /** Input of the agent call. `undefined`: the agent continues from the stored log. */
  readonly input: AgentInput | undefined;
  /** Decisions about all open tool calls, if the input is a new message. */
  readonly decisions?: readonly Decision[];
  /** Whether the turn replaces stored messages. The run's first write removes them. */
  readonly replaces?: boolean;
}

type MessageRequest = Extract<TurnRequest, { readonly kind: 'message' | 'regenerate' }>;

/** What a host knows about the tools of a session beside its log. */
export type BeginTurnOptions = Pick<DecideForMessageOptions, 'isToolGone'>;

/**
 * Applies the request of a client to the log and returns the agent's input. The client sends a new
 * message, edits an earlier one, asks for a new answer, decides about pending tool calls, or
 * continues from the log. Removes the messages that the turn replaces. The agent must not have an
 * active run.
 *
 * Rejects with `INVALID_MESSAGE` if the message has the id of a message that the user did not
 * write. Rejects with `INVALID_INPUT` if there is no message to answer again. Rejects like
 * `acceptDecisions` for decisions.
 */
export async function beginTurn(
  agent: DecidingAgent,
  request: TurnRequest,
  options?: BeginTurnOptions,
): Promise<TurnInput> {
  if (request.kind === 'messages') return { input: request.messages };
  if (request.kind === 'continue') return { input: undefined };
  const storedMessages = await agent.memory.read();
  switch (request.kind) {
    case 'decide':
      return { input: await acceptDecisions(agent, storedMessages, request.decisions, request) };
    case 'decisions':
      return {
        input: await acceptDecisions(agent, storedMessages, request.decisions, { isHistory: true }),
      };
    default:
      return beginWithMessage(agent, storedMessages, request, options);
  }
}

/** Begins a turn that sends, edits or asks again a message of the user. */
async function beginWithMessage(
  agent: DecidingAgent,
  storedMessages: readonly Msg[],
  request: MessageRequest,
  { isToolGone }: BeginTurnOptions = {},
): Promise<TurnInput> {
  const { message } = request;
  const index = questionAt(storedMessages, request);
  // A message that never reached the host is new, even if the client asks for another answer to
  // this message.
  const regenerates = request.kind === 'regenerate' && index >= 0;
  const keptCount = regenerates ? index + 1 : index;
  const keptMessages = index < 0 ? storedMessages : storedMessages.slice(0, keptCount);
  const removedIds = storedMessages.slice(keptMessages.length).map(({ id }) => id);
  const replaces = removedIds.length > 0;
  // The run's first write stores this change, so that no message or answer is lost alone, for
  // example if a guard refuses the input.
  if (replaces) await agent.memory.delete(removedIds, { later: true });
  if (!message || regenerates) return { input: undefined, replaces };
  const sentDecisions = request.kind === 'message' ? (request.decisions ?? []) : [];
  const clientDecisions = await usableDecisions(agent, keptMessages, sentDecisions);
  const decisions = await decideForMessage(agent, keptMessages, {
    clientDecisions,
    ...(isToolGone && { isToolGone }),
  });
  return { input: message, decisions, replaces };
}

/** Returns the index of the question that the turn asks again, or -1 for a new question. */
function questionAt(storedMessages: readonly Msg[], request: MessageRequest): number {
  const { message } = request;
  if (!message) {
    const messageId = request.kind === 'regenerate' ? request.messageId : undefined;
    const at = storedMessages.findLastIndex(
      ({ id }) => messageId === undefined || id === messageId,
    );
    const index = storedMessages.slice(0, at + 1).findLastIndex(isQuestion);
    if (index < 0) throw noQuestionError();
    return index;
  }
  const index = storedMessages.findIndex(({ id }) => id === message.id);
  // Message ids must be unique, because deleting a message deletes all messages with its id.
  if (index >= 0 && !isQuestion(storedMessages[index]!))
    throw new AgentError(
      'INVALID_MESSAGE',
      'The message has the id of a message that the user did not write.',
    );
  return index;
}
