import { AgentError, toolResultsOf, toolUsesOf } from '@isoloop/core';
import type { Msg, ReActAgent } from '@isoloop/core';
import { fromOpenAiMessages } from '@isoloop/core/openai';
import { isCallId } from '../turn/decisions.ts';
import type { EdgeLimits } from '../handler-options.ts';
import { invalidField } from '../http/request-body.ts';
import type { SessionTurn } from '../session/session-turn.ts';
import { isMediaAddress } from '../turn/user-message.ts';

/**
 * Converts the posted messages. Throws `INVALID_INPUT` for an invalid message, media URL or tool
 * call id, and `PAYLOAD_TOO_LARGE` for a tool result that is too long.
 */
export function readPosted(posted: readonly unknown[], limits: EdgeLimits): readonly Msg[] {
  return fromOpenAiMessages(posted).map((message, index) => {
    for (const block of message.content) {
      if ('source' in block && !isMediaAddress(block.source)) {
        throw invalidField(`messages[${index}]`, 'has a media URL that is not http, https or data');
      }
    }
    for (const { id } of toolUsesOf(message)) checkCallId(id, index);
    for (const { toolUseId, output } of toolResultsOf(message)) {
      checkCallId(toolUseId, index);
      const size = typeof output === 'string' ? output.length : JSON.stringify(output).length;
      if (size > limits.toolResultChars) {
        throw new AgentError(
          'PAYLOAD_TOO_LARGE',
          `messages[${index}] is longer than ${limits.toolResultChars} characters.`,
          {
            details: { param: `messages[${index}]` },
          },
        );
      }
    }
    return message;
  });
}

/**
 * Checks a conversation that comes entirely from the client. Throws `INVALID_INPUT` in these cases:
 *
 * - The results of tool calls do not directly follow the tool calls. The agent would run a tool
 *   call without a result.
 * - A tool call is of a tool that the agent runs itself. The client could invent the result of such
 *   a tool call.
 */
export function checkConversation(messages: readonly Msg[], { tools }: ReActAgent): void {
  const open = new Set<string>();
  const seen = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const param = `messages[${index}]`;
    if (message.role !== 'tool' && open.size)
      throw invalidField(param, `comes before the results of the tool calls ${list(open)}`);
    for (const { toolUseId } of toolResultsOf(message)) {
      if (!open.delete(toolUseId))
        throw invalidField(param, 'answers no tool call of the message before it');
    }
    for (const { id, name } of toolUsesOf(message)) {
      if (seen.has(id))
        throw invalidField(
          param,
          `has a tool call with an id that was there before: ${JSON.stringify(id)}`,
        );
      const own = tools.find(name);
      if (own !== undefined && (typeof own === 'string' || own.execute)) {
        throw invalidField(
          param,
          `has a call of ${JSON.stringify(name)}, a tool that only the agent calls`,
        );
      }
      seen.add(id);
      open.add(id);
    }
  }
  if (open.size)
    throw invalidField(
      `messages[${messages.length - 1}]`,
      `leaves tool calls without results: ${list(open)}`,
    );
}

/**
 * Converts a client's system messages to user messages, so that the model does not treat them as
 * the agent's own prompt. Marks them with `metadata.instructions`, so that `titleOf` prefers other
 * messages.
 */
export function withoutSystem(messages: readonly Msg[]): readonly Msg[] {
  return messages.map((message) =>
    message.role === 'system'
      ? { ...message, role: 'user', metadata: { instructions: true } }
      : message,
  );
}

/**
 * Returns the new messages of a client, if the server stores the history. These are the messages
 * after the last assistant message. They are either results of external tool calls or messages of
 * the user. Throws `INVALID_INPUT` if there are no new messages, or if there are both kinds.
 */
export function readTail(
  messages: readonly Msg[],
): Extract<SessionTurn, { kind: 'messages' | 'decide' }> {
  const tail = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  const results = tail.flatMap(toolResultsOf);
  if (!tail.length)
    throw invalidField('messages', 'has nothing new after the last message of the assistant');
  if (!results.length) return { kind: 'messages', messages: tail };
  if (tail.some(({ role }) => role !== 'tool' && role !== 'system')) {
    throw invalidField(
      'messages',
      'must have either tool results or user messages after the last message of the assistant',
    );
  }
  return {
    kind: 'decide',
    decisions: results.map(({ toolUseId, output }) => ({ type: 'result', toolUseId, output })),
  };
}

function checkCallId(id: string, index: number): void {
  if (!isCallId(id))
    throw invalidField(
      `messages[${index}]`,
      'has an id of a tool call that is not 1 to 256 visible characters',
    );
}

function list(ids: Iterable<string>): string {
  return [...ids].map((id) => JSON.stringify(id)).join(', ');
}
