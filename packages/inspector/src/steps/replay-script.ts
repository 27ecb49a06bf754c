import {
  toolResultsOf,
  toolUsesOf,
  type Decision,
  type ModelDelta,
  type Msg,
  type ToolResult,
  type ToolUse,
  type Usage,
} from '@isoloop/core';
import { metadataOf } from '@isoloop/core/message';
import { isModelReply, type LogTurn } from './log-turns.ts';

/** What a replay of a turn needs of the log. */
export interface ReplayScript {
  /** Messages of earlier turns. */
  readonly earlierMessages: readonly Msg[];
  /** Input of the agent call. */
  readonly input: readonly Msg[];
  /** The model's replies, in order, without invalid ones. */
  readonly replies: readonly Msg[];
  /** The results of tool calls, by the id of the tool call. */
  readonly results: ReadonlyMap<string, ToolResult>;
  /** The message with which the turn ended, if no model wrote it. */
  readonly ending: Msg | undefined;
  /** Names of the tools that the model called. */
  readonly tools: readonly string[];
}

/** Returns what a replay of a turn needs. */
export function replayScript({ earlierMessages, messages }: LogTurn): ReplayScript {
  const inputCount = messages.findIndex(({ role }) => role !== 'user');
  const replies = messages.filter(
    (message) => isModelReply(message) && !metadataOf(message).correction,
  );
  const lastMessage = messages.at(-1);
  return {
    earlierMessages,
    input: inputCount < 0 ? messages : messages.slice(0, inputCount),
    replies,
    results: new Map(
      messages.flatMap(toolResultsOf).map((result) => [result.toolUseId, result] as const),
    ),
    ending:
      lastMessage?.role === 'assistant' && !isModelReply(lastMessage) ? lastMessage : undefined,
    tools: [...new Set(replies.flatMap(toolUsesOf).map(({ name }) => name))],
  };
}

/** Returns a reply of the log as a model sends it. */
export function deltasOf(reply: Msg): readonly (readonly ModelDelta[])[] {
  const { usage, finishReason } = metadataOf(reply);
  let index = 0;
  const contentDeltas = reply.content.map((block, at): readonly ModelDelta[] => {
    const id = String(at);
    switch (block.type) {
      case 'text':
        return [{ type: 'text', id, delta: block.text }];
      case 'thinking':
        return [{ type: 'thinking', id, delta: block.thinking }];
      case 'tool_use': {
        const delta = JSON.stringify(block.input);
        return [{ type: 'tool-input', index: index++, id: block.id, name: block.name, delta }];
      }
      default:
        return [];
    }
  });
  const reason = finishReason ?? (toolUsesOf(reply).length ? 'tool_calls' : 'stop');
  const finish = { type: 'finish', reason, ...(usage && { usage: usage as unknown as Usage }) };
  return [...contentDeltas.filter(({ length }) => length), [finish as ModelDelta]];
}

/** Returns the decisions with which the log's turn went on, for the calls that wait. */
export function decisionsOf(
  { results }: Pick<ReplayScript, 'results'>,
  calls: readonly Pick<ToolUse, 'id'>[],
): readonly Decision[] {
  return calls.flatMap(({ id }): readonly Decision[] => {
    const result = results.get(id);
    if (!result) return [];
    if (result.state === 'denied') return [{ toolUseId: id, type: 'reject' }];
    const state = result.state === 'success' ? 'success' : 'error';
    return [{ toolUseId: id, type: 'result', output: result.output, state }];
  });
}
