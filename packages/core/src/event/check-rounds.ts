import { type AgentError, invalidInput } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';

const toRun =
  "To run it, call without input over new InMemoryMemory(messages, { openCalls: 'run' }).";

/**
 * Throws `INVALID_INPUT` unless each tool call in the messages has a unique id and exactly one
 * result after it. Ignores results without a tool call in the messages, because they answer open
 * tool calls of the conversation. `advice`: last sentence of the error for an open tool call.
 */
export function checkRounds(messages: readonly Msg[], advice: string = toRun): void {
  /** Index of the message of each tool call without a result. */
  const open = new Map<string, number>();
  /** Type of the first block with each id. */
  const began = new Map<string, 'tool_use' | 'tool_result'>();
  for (const [index, { content }] of messages.entries()) {
    for (const block of content) {
      if (block.type !== 'tool_use' && block.type !== 'tool_result') continue;
      const id = block.type === 'tool_use' ? block.id : block.toolUseId;
      const before = began.get(id);
      began.set(id, before ?? block.type);
      if (block.type === 'tool_use') {
        if (before) throw unpaired(id, index);
        open.set(id, index);
      } else if (!open.delete(id) && before === 'tool_use') throw unpaired(id, index);
    }
  }
  const [first] = open;
  if (first) throw unpaired(...first, ` Add the result, or remove the tool call. ${advice}`);
}

function unpaired(id: string, index: number, advice = ''): AgentError {
  const message = `The tool call "${id}" (item ${index} of the input) needs a unique id and one result after it.${advice}`;
  return invalidInput(message, { details: { index, id } });
}
