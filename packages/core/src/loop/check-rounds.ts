import { AgentError } from '../error/agent-error.ts';
import type { ToolResult, ToolUse } from '../message/content-block.ts';
import type { Msg } from '../message/msg.ts';

/**
 * Throws `INVALID_INPUT` unless each tool call in the messages has an id of its own and one result
 * behind it. Ignores results without a call in the messages: they answer open calls of the
 * conversation.
 */
export function checkRounds(messages: readonly Msg[]): void {
  const open = new Map<string, { readonly name: string; readonly index: number }>();
  const closed = new Set<string>();
  const early = new Set<string>();
  for (const [index, { content }] of messages.entries()) {
    for (const block of content) {
      if (block.type === 'tool_use') {
        const { id, name } = block;
        if (open.has(id) || closed.has(id) || early.has(id)) throw misplaced(block, index);
        open.set(id, { name, index });
      }
      if (block.type !== 'tool_result') continue;
      const { toolUseId } = block;
      if (open.delete(toolUseId)) closed.add(toolUseId);
      else if (closed.has(toolUseId)) throw misplaced(block, index);
      else early.add(toolUseId);
    }
  }
  const [first] = open;
  if (!first) return;
  const [id, { name, index }] = first;
  const message = `Item ${index} of the input has a tool call without a result: "${name}" (${id}). Add a tool message with its result behind it, or leave the call out. To run the call, give the messages to the agent's memory and call without input.`;
  throw new AgentError('INVALID_INPUT', message, { details: { index, id } });
}

function misplaced(block: ToolUse | ToolResult, index: number): AgentError {
  const id = block.type === 'tool_use' ? block.id : block.toolUseId;
  const message = `Item ${index} of the input has a tool call or result "${id}" that does not fit. Each call needs an id of its own, and one result behind it.`;
  return new AgentError('INVALID_INPUT', message, { details: { index, id } });
}
