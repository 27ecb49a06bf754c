import type { ToolUse } from './content-block.ts';
import { toolResultsOf, toolUsesOf } from './message-text.ts';
import type { Msg } from './msg.ts';

/** The tool calls that have no result anywhere in the conversation. */
export function openCalls(messages: readonly Msg[]): readonly ToolUse[] {
  const open = new Map<string, ToolUse>();
  for (const block of messages.flatMap(({ content }) => content)) {
    if (block.type === 'tool_use') open.set(block.id, block);
    if (block.type === 'tool_result') open.delete(block.toolUseId);
  }
  return [...open.values()];
}

/**
 * The log has tool results as they came in; a model wants them right after the message that asked, in the order it asked.
 * A result that belongs to no call, or is a second one, is left out. Gives the same array where nothing has to move.
 */
export function inRequestOrder(messages: readonly Msg[]): readonly Msg[] {
  const results = new Map<string, Msg>();
  for (const message of messages) {
    for (const { toolUseId } of toolResultsOf(message)) if (!results.has(toolUseId)) results.set(toolUseId, message);
  }
  const placed = new Set<Msg>();
  const ordered: Msg[] = [];
  for (const message of messages) {
    if (message.role === 'tool' || placed.has(message)) continue;
    ordered.push(message);
    for (const { id } of toolUsesOf(message)) {
      const result = results.get(id);
      if (!result || placed.has(result)) continue;
      placed.add(result);
      ordered.push(result);
    }
  }
  return ordered.length === messages.length && ordered.every((message, index) => message === messages[index]) ? messages : ordered;
}
