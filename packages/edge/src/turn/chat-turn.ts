import {
  AgentError,
  SessionMemory,
  type AgentInput,
  type Decision,
  type Memory,
  type Msg,
  type PendingCall,
  type ReActAgent,
} from '@isoloop/core';
import { decideForMessage } from '@isoloop/core/approval';
import { isQuestion, titleOf } from '@isoloop/core/message';
import { logMemoryOf } from '@isoloop/core/memory';
import type { SessionView } from '@isoloop/core/host';
import { fromUiDecisions } from '@isoloop/core/stream';
import {
  acceptDecisions,
  checkSize,
  sizeOf,
  usableDecisions,
  type DecidingAgent,
} from './decisions.ts';
import type { EdgeLimits } from '../handler-options.ts';
import { fieldError, readMessages, type RequestBody } from '../http/request-body.ts';
import { checkMessageId, isMessageId, readUserMessage } from './user-message.ts';

/**
 * Request of a client for a turn, as plain JSON.
 *
 * - `message`: a new message, or an edited earlier message. `decisions`: decisions in the last
 *   assistant message that the client may not have sent before.
 * - `regenerate`: a new answer to the posted message, or to the user message before the message
 *   with the id `messageId`. Without either, a new answer to the last stored user message.
 * - `decisions`: decisions about pending tool calls, with which the agent continues.
 */
export type ChatTurnRequest =
  | {
      readonly kind: 'message';
      readonly message: Msg;
      readonly decisions?: readonly Decision[];
    }
  | { readonly kind: 'regenerate'; readonly message?: Msg; readonly messageId?: string | undefined }
  | {
      readonly kind: 'decisions';
      readonly decisions: readonly Decision[];
      readonly messageId: string;
    };

/**
 * Reads the request that `useChat` posted. Uses only the last message. Decisions may also be in the
 * assistant message whose id is `messageId`.
 */
export function readChatTurn(body: RequestBody, limits: EdgeLimits): ChatTurnRequest {
  const { trigger } = body;
  if (trigger !== undefined && trigger !== 'submit-message' && trigger !== 'regenerate-message') {
    throw fieldError('trigger', 'must be "submit-message" or "regenerate-message"');
  }
  const messageId = body['messageId'] ?? undefined;
  if (messageId !== undefined && !isMessageId(messageId))
    throw fieldError('messageId', 'must be 1 to 128 visible characters');
  const messages = readMessages(body, limits.messages);
  if (trigger === 'regenerate-message') {
    const lastQuestion = messages.findLast((message) => Object(message).role === 'user');
    if (typeof Object(lastQuestion).id === 'string')
      return { kind: 'regenerate', message: readUserMessage(lastQuestion) };
    return { kind: 'regenerate', messageId };
  }
  // After the assistant message there may be a user message that was refused because tool calls
  // were pending.
  const message =
    messages.findLast(
      (each) => Object(each).role === 'assistant' && Object(each).id === messageId,
    ) ?? messages.at(-1);
  const decisions = fromUiDecisions(message);
  if (!decisions.length) return readMessage(messages, limits);
  const { id } = message as { readonly id?: unknown };
  checkMessageId(id);
  for (const decision of decisions) checkSize(decision, limits, () => 'messages');
  return { kind: 'decisions', decisions, messageId: id };
}

function readMessage(messages: readonly unknown[], limits: EdgeLimits): ChatTurnRequest {
  const message = readUserMessage(messages.at(-1));
  // After a refused message, the client's list may have an assistant message without parts.
  const answer = messages.findLast(
    (each) => Object(each).role === 'assistant' && Object(Object(each).parts).length > 0,
  );
  // Most results belong to finished tool calls and may be long. `beginChatTurn` later selects the
  // results of open tool calls.
  const decisions = fromUiDecisions(answer).filter(
    (decision) => sizeOf(decision) <= limits.toolResultChars,
  );
  return { kind: 'message', message, ...(decisions.length && { decisions }) };
}

/** Input of the agent for a turn. */
export interface TurnInput {
  /** Input of the agent call. `undefined`: the agent continues from the stored log. */
  readonly input: AgentInput | undefined;
  /** Decisions about all open tool calls, if the input is a new message. */
  readonly decisions?: readonly Decision[];
  /** Whether the turn replaces stored messages. The run's first write removes them. */
  readonly replaces?: boolean;
}

export interface BeginTurnOptions {
  /**
   * Whether the turn began in an isolate that died. Tool calls that ran in that isolate have no
   * result.
   */
  readonly isResumed?: boolean;
}

/** Removes the messages that the turn replaces from the log, and returns the agent's input. */
export async function beginChatTurn(
  agent: DecidingAgent,
  request: ChatTurnRequest,
  { isResumed = false }: BeginTurnOptions = {},
): Promise<TurnInput> {
  if (request.kind === 'decisions')
    return { input: await acceptDecisions(agent, request.decisions, { isHistory: true }) };
  const { memory } = agent;
  const storedMessages = await memory.read();
  const { message } = request;
  const index = questionAt(storedMessages, request);
  // A message that never reached the server is new, even if the client asks for another answer to
  // this message.
  const regenerates = request.kind === 'regenerate' && index >= 0;
  const removedIds =
    index < 0 ? [] : storedMessages.slice(regenerates ? index + 1 : index).map(({ id }) => id);
  const replaces = removedIds.length > 0;
  // The run's first write stores this change, so that no message or answer is lost alone, for
  // example if a guard refuses the input.
  if (replaces) await memory.delete(removedIds, { later: true });
  if (!message || regenerates) return { input: undefined, replaces };
  const sentDecisions = request.kind === 'message' ? (request.decisions ?? []) : [];
  const clientDecisions = await usableDecisions(agent, sentDecisions);
  const decisions = await decideForMessage(agent, {
    clientDecisions,
    isToolGone: (_toolUse, { started, pending }) => isResumed && started === true && !pending,
  });
  return { input: message, decisions, replaces };
}

/** Returns the index of the question that the turn asks again, or -1 for a new question. */
function questionAt(
  storedMessages: readonly Msg[],
  request: Exclude<ChatTurnRequest, { kind: 'decisions' }>,
): number {
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

export function noQuestionError(): AgentError {
  return new AgentError('INVALID_INPUT', 'There is no message to answer again.');
}

type LastRun = Pick<SessionView, 'openRunId' | 'endReason' | 'calls'>;

/** Returns what a memory stores about the last run. Only a `SessionMemory` stores it. */
export async function lastRun(memory: Memory): Promise<LastRun> {
  if (memory instanceof SessionMemory) return memory.view();
  return { openRunId: undefined, endReason: undefined, calls: new Map() };
}

/** Returns the pending tool calls. Returns an empty list if the memory is not a `SessionMemory`. */
export async function readPendingCalls(memory: Memory): Promise<readonly PendingCall[]> {
  const { calls } = await lastRun(memory);
  return [...calls.values()].flatMap(({ pending }) => pending ?? []);
}

/**
 * Stores the beginning of the first message as the title of a new session. Does nothing for a
 * session that already has data. A hook does it, after the guards have accepted the message and the
 * log has it. The memory writes the title with its next write. `onTitle` is called when the title
 * is set.
 */
export function storeTitle(agent: ReActAgent, onTitle?: () => void): void {
  const { memory } = agent;
  const log = logMemoryOf(memory);
  if (log?.sessionVersion !== 0) return;
  const remove = agent.addHook({
    name: 'title',
    onError: 'ignore',
    on: {
      'pre-reasoning': async () => {
        remove();
        const title = titleOf(await memory.read());
        if (!title) return;
        await log.note([{ kind: 'state', state: { title } }]);
        onTitle?.();
      },
    },
  });
}
