import { toolResultsOf, toolUsesOf, type Msg, type ReActAgent } from '@isoloop/core';
import { checkDecisionSize, fieldError, runsHere, type TurnRequest } from '@isoloop/core/host';
import { fromOpenAiMessages } from '../wire/openai-messages.ts';
import type { EdgeLimits } from '@isoloop/edge';

/** Returns the name of a message's field, for errors. */
export type ParamOf = (index: number) => string;

const messageParam: ParamOf = (index) => `messages[${index}]`;

/**
 * Converts the posted messages. Throws `INVALID_INPUT` for an invalid message, media URL or tool
 * call id, and `PAYLOAD_TOO_LARGE` for a tool result that is too long.
 */
export function readPosted(rawMessages: readonly unknown[], limits: EdgeLimits): readonly Msg[] {
  const messages = fromOpenAiMessages(rawMessages);
  checkPosted(messages, limits, messageParam);
  return messages;
}

/** Throws `PAYLOAD_TOO_LARGE` for a tool result that is too long. */
export function checkPosted(messages: readonly Msg[], limits: EdgeLimits, paramOf: ParamOf): void {
  for (const [index, message] of messages.entries()) {
    // Finding the name may take long.
    const param = (): string => paramOf(index);
    for (const { toolUseId, output } of toolResultsOf(message))
      checkDecisionSize({ type: 'result', toolUseId, output }, limits, param);
  }
}

/**
 * Checks a conversation that comes entirely from the client. Throws `INVALID_INPUT` in these cases:
 *
 * - The results of tool calls do not directly follow the tool calls. The agent would run a tool
 *   call without a result.
 * - A tool call is of a tool that the agent runs itself. The client could invent the result of such
 *   a tool call.
 * - The last message is of the assistant.
 */
export function checkConversation(
  messages: readonly Msg[],
  { tools }: ReActAgent,
  paramOf: ParamOf = messageParam,
): void {
  const openIds = new Set<string>();
  const earlierIds = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const param = (): string => paramOf(index);
    if (message.role !== 'tool' && openIds.size)
      throw fieldError(param(), `comes before the results of the tool calls ${quoteIds(openIds)}`);
    for (const { toolUseId } of toolResultsOf(message)) {
      if (!openIds.delete(toolUseId))
        throw fieldError(param(), 'answers no tool call of the message before it');
    }
    for (const { id, name } of toolUsesOf(message)) {
      if (earlierIds.has(id))
        throw fieldError(
          param(),
          `has a tool call with an id that was there before: ${JSON.stringify(id)}`,
        );
      if (runsHere(tools.find(name))) {
        throw fieldError(
          param(),
          `has a call of ${JSON.stringify(name)}, a tool that only the agent calls`,
        );
      }
      earlierIds.add(id);
      openIds.add(id);
    }
  }
  if (openIds.size)
    throw fieldError(
      paramOf(messages.length - 1),
      `leaves tool calls without results: ${quoteIds(openIds)}`,
    );
  if (messages.at(-1)?.role === 'assistant')
    throw fieldError(
      paramOf(messages.length - 1),
      'is a message of the assistant at the end, so there is nothing to answer',
    );
}

/**
 * Returns the new messages of a client, if the server stores the history. These are the messages
 * after the last assistant message. They are either results of external tool calls or messages of
 * the user. Throws `INVALID_INPUT` if there are no new messages, or if there are both kinds.
 */
export function readTail(
  messages: readonly Msg[],
  { list: param = 'messages', paramOf = messageParam }: TailNames = {},
): Extract<TurnRequest, { kind: 'messages' | 'decide' }> {
  const start = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  const tail = messages.slice(start);
  const results = tail.flatMap(toolResultsOf);
  if (!tail.length)
    throw fieldError(param, 'has nothing new after the last message of the assistant');
  if (!results.length) return { kind: 'messages', messages: tail };
  if (tail.some(({ role }) => role !== 'tool' && role !== 'system')) {
    throw fieldError(
      param,
      'must have either tool results or user messages after the last message of the assistant',
    );
  }
  return {
    kind: 'decide',
    decisions: results.map(({ toolUseId, output }) => ({ type: 'result', toolUseId, output })),
    params: tail.flatMap((message, index) =>
      toolResultsOf(message).map(() => paramOf(start + index)),
    ),
  };
}

interface TailNames {
  /** Name of the field with the messages, for errors. Default: `messages`. */
  readonly list?: string;
  readonly paramOf?: ParamOf;
}

function quoteIds(ids: Iterable<string>): string {
  return [...ids].map((id) => JSON.stringify(id)).join(', ');
}
