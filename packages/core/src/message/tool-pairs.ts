import type { ToolUse } from './content-block.ts';
import type { Msg } from './msg.ts';

/** Returns the tool calls without a result anywhere in the conversation. */
export function openCalls(messages: readonly Msg[]): readonly ToolUse[] {
  const open = new Map<string, ToolUse>();
  for (const { content } of messages) {
    for (const block of content) {
      if (block.type === 'tool_use') open.set(block.id, block);
      else if (block.type === 'tool_result') open.delete(block.toolUseId);
    }
  }
  return [...open.values()];
}

/**
 * Moves tool results right behind the message with their calls, in the order of the calls. The log
 * holds results in order of arrival, but a model needs this order. It drops results without a call
 * and repeated results. Returns the same array if nothing changes.
 */
export function inRequestOrder(messages: readonly Msg[]): readonly Msg[] {
  const results = new Map<string, Msg>();
  for (const message of messages) {
    for (const block of message.content) {
      if (block.type === 'tool_result' && !results.has(block.toolUseId))
        results.set(block.toolUseId, message);
    }
  }
  const placed = new Set<Msg>();
  const ordered: Msg[] = [];
  for (const message of messages) {
    if (message.role === 'tool' || placed.has(message)) continue;
    ordered.push(message);
    for (const block of message.content) {
      const result = block.type === 'tool_use' && results.get(block.id);
      if (!result || placed.has(result)) continue;
      placed.add(result);
      ordered.push(result);
    }
  }
  return ordered.length === messages.length &&
    ordered.every((message, index) => message === messages[index])
    ? messages
    : ordered;
}
