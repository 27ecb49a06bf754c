import { toolResultsOf, toolUsesOf, type JsonValue, type Msg } from '@isoloop/core';
import type { LogTurn } from './log-turns.ts';

/** A new conversation that begins as another one, and then differs. */
export interface ForkDraft {
  /** Messages of the conversation so far. */
  readonly messages: readonly Msg[];
  /** Text of the next user message. Without it, the agent continues from the messages. */
  readonly input?: string;
}

/** Returns a conversation in which the user says something else at the start of a turn. */
export function forkWithInput({ earlierMessages }: LogTurn, input: string): ForkDraft {
  return { messages: earlierMessages, input };
}

/**
 * Returns a conversation that ends before a reply, so that the model replies again. Returns
 * `undefined` if the turn does not have the reply.
 */
export function forkBefore(
  { earlierMessages, messages }: LogTurn,
  replyId: string,
): ForkDraft | undefined {
  const index = messages.findIndex(({ id }) => id === replyId);
  return index < 1 ? undefined : { messages: [...earlierMessages, ...messages.slice(0, index)] };
}

/**
 * Returns a conversation in which a tool call has other arguments. The tool runs again, and the
 * model replies to its result. The results of the reply's other tool calls stay. Returns
 * `undefined` if the turn does not have the tool call.
 */
export function forkWithArguments(
  { earlierMessages, messages }: LogTurn,
  toolUseId: string,
  input: JsonValue,
): ForkDraft | undefined {
  const index = messages.findIndex((message) =>
    toolUsesOf(message).some(({ id }) => id === toolUseId),
  );
  const reply = messages[index];
  if (!reply) return undefined;
  const siblings = new Set(toolUsesOf(reply).map(({ id }) => id));
  siblings.delete(toolUseId);
  const results = messages
    .slice(index + 1)
    .filter((message) => toolResultsOf(message).some((result) => siblings.has(result.toolUseId)));
  return {
    messages: [
      ...earlierMessages,
      ...messages.slice(0, index),
      withInput(reply, toolUseId, input),
      ...results,
    ],
  };
}

/** Drops what only the model's own form of the reply has, such as signatures of the provider. */
function withInput(reply: Msg, toolUseId: string, input: JsonValue): Msg {
  const content = reply.content.map((block) =>
    block.type === 'tool_use' && block.id === toolUseId
      ? { type: block.type, id: block.id, name: block.name, input }
      : block,
  );
  return { ...reply, content };
}
