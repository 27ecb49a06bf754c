import { AgentError, type AgentInput, type Decision, type ReActAgent } from '@isoloop/core';
import { decideForMessage } from '@isoloop/core/approval';
import { deniedChunks, isCutOff, messagesBefore } from '@isoloop/core/host';
import {
  fromUiDecisions,
  fromUiMessage,
  toUiMessages,
  type UiChunk,
  type UiMessage,
} from '@isoloop/core/stream';
import type { MessageStart, ChatMessage } from '../wire/protocol.ts';
import { pendingCalls, shownCalls, storedView } from './pending-calls.ts';
import type { SessionPages } from './page/session-pages.ts';

/** Input of the agent for a message from `useChat`, and how the chat shows the answer. */
export interface ChatTurn extends MessageStart {
  /** Input of the agent call. `undefined`: the agent continues from the stored log. */
  readonly input: AgentInput | undefined;
  /** Decisions about all open tool calls, if the input is a new message. */
  readonly decisions?: readonly Decision[];
}

/**
 * Applies a message from AI SDK's `useChat` to the log and returns the input for the agent.
 *
 * If the log already has the user message, the user has edited it or wants a new answer. The
 * replaced messages are then deleted. An assistant message decides about its pending tool calls,
 * and the run continues that message. A new message rejects tool calls that wait for approval,
 * unless `answer` decides about them.
 */
export async function takeChatMessage(
  agent: ReActAgent,
  { trigger, message, answer }: ChatMessage,
  pages: SessionPages,
): Promise<ChatTurn> {
  const { memory } = agent;
  if (isAnswer(message) && trigger === 'submit-message') {
    const input = await decisionsIn(agent, message);
    if (!input.length)
      throw new AgentError('INVALID_MESSAGE', 'The message answers no open tool call.');
    return { input, ...(await shownSoFar(agent)), messageId: message.id };
  }
  const question = fromUiMessage(message);
  const storedMessages = await memory.read();
  const index = storedMessages.findIndex(({ id }) => id === question.id);
  const isRegenerated = trigger === 'regenerate-message' && index >= 0;
  const removedIds =
    index < 0 ? [] : storedMessages.slice(isRegenerated ? index + 1 : index).map(({ id }) => id);
  // The run's first write stores this change, so that the replaced answer is never lost alone.
  if (removedIds.length) await memory.delete(removedIds, { later: true });
  if (isRegenerated) return { input: undefined };
  let clientDecisions: readonly Decision[] = [];
  if (isAnswer(answer)) clientDecisions = await decisionsIn(agent, answer);
  const isToolGone = pages.goneToolCheck(agent.tools);
  return {
    input: question,
    decisions: await decideForMessage(agent, { clientDecisions, isToolGone }),
  };
}

/**
 * Returns the decisions in an assistant message about pending tool calls. Ignores a result for a
 * tool call that waits for approval, because its tool has not run.
 */
async function decisionsIn(agent: ReActAgent, answer: AnswerMessage): Promise<readonly Decision[]> {
  const callsById = new Map((await pendingCalls(agent)).map((call) => [call.toolUseId, call]));
  return fromUiDecisions(answer).filter(({ toolUseId, name, type }) => {
    const call = callsById.get(toolUseId);
    if (!call || call.name !== name) return false;
    return type !== 'result' || (call.kind !== 'approval' && call.kind !== 'replay');
  });
}

/**
 * Returns how the chat shows the run that was interrupted, for example by a reload. Returns
 * `undefined` if there is no such run.
 */
export async function cutOffStart(agent: ReActAgent): Promise<MessageStart | undefined> {
  const view = await storedView(agent.memory);
  if (!view || !isCutOff(view)) return undefined;
  return { ...(await shownSoFar(agent)), continues: true };
}

/**
 * Returns how the chat shows a run that continues the last answer in the log. Includes the content
 * of that answer, because a reader may not have it. Omits messages that an agent call without input
 * removes or produces again.
 */
export async function shownSoFar(agent: ReActAgent): Promise<MessageStart> {
  const [messages, view] = await Promise.all([agent.messages(), storedView(agent.memory)]);
  const { openRunId } = view ?? { openRunId: undefined };
  const pending = await shownCalls(agent);
  const lastMessage = toUiMessages(messagesBefore({ messages, openRunId }), { pending }).at(-1);
  if (lastMessage?.role !== 'assistant') return {};
  const chunks = lastMessage.parts.flatMap((part, index) =>
    toChunks(part, `${lastMessage.id}:${index}`),
  );
  return { messageId: lastMessage.id, earlierChunks: [...chunks, { type: 'finish-step' }] };
}

interface AnswerMessage {
  readonly id: string;
  readonly role: 'assistant';
  readonly parts: readonly object[];
}

/** Returns whether the value is an assistant message with valid parts. */
function isAnswer(message: unknown): message is AnswerMessage {
  const { id, role, parts } = Object(message) as Partial<AnswerMessage>;
  return (
    role === 'assistant' &&
    typeof id === 'string' &&
    Array.isArray(parts) &&
    parts.every((part) => Object(part) === part)
  );
}

function toChunks(part: UiMessage['parts'][number], id: string): readonly UiChunk[] {
  switch (part.type) {
    case 'step-start':
      return [{ type: 'start-step' }];
    case 'text':
    case 'reasoning':
      return [
        { type: `${part.type}-start`, id },
        { type: `${part.type}-delta`, id, delta: part.text },
        { type: `${part.type}-end`, id },
      ];
    case 'dynamic-tool': {
      const { toolCallId, toolName, input } = part;
      const callFields = {
        toolCallId,
        dynamic: true,
        ...('providerExecuted' in part && { providerExecuted: true }),
      } as const;
      const inputChunk: UiChunk = { type: 'tool-input-available', ...callFields, toolName, input };
      if (part.state === 'output-available')
        return [
          inputChunk,
          {
            type: 'tool-output-available',
            ...callFields,
            output: part.output,
            ...(part.toolMetadata && { toolMetadata: part.toolMetadata }),
          },
        ];
      if (part.state === 'output-error')
        return [
          inputChunk,
          { type: 'tool-output-error', ...callFields, errorText: part.errorText },
        ];
      if (part.state === 'output-denied')
        return [inputChunk, ...deniedChunks(toolCallId, part.approval.reason)];
      return [inputChunk];
    }
    default:
      return [part];
  }
}
