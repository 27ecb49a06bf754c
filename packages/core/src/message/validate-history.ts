import { toolUsesOf } from './message-text.ts';
import type { Msg } from './msg.ts';
import { invalidMessage, parseMessages } from './validate-message.ts';

/**
 * A whole conversation from outside, to begin or go on with: what `parseMessages` asks for, and
 * that no two messages and no two tool calls have the same id; a result could not be told from
 * another's. Gives the very same array back, else throws `INVALID_MESSAGE`, with index, id and
 * field. A call without a result is open, which is no fault; a result without a call, as a trimmed
 * history has it, goes to no model.
 */
export function parseHistory(value: unknown): readonly Msg[] {
  const messages = parseMessages(value);
  const ids = new Map<string, number>();
  const toolUseIds = new Map<string, number>();
  for (const [index, message] of messages.entries()) {
    const before = ids.get(message.id);
    if (before !== undefined)
      throw invalidMessage(index, message, {
        field: 'id',
        expected: `another than that of message ${before}`,
      });
    ids.set(message.id, index);
    for (const toolUse of toolUsesOf(message)) {
      const field = `content[${message.content.indexOf(toolUse)}].id`;
      const asked = toolUseIds.get(toolUse.id);
      if (asked !== undefined)
        throw invalidMessage(index, message, {
          field,
          expected: `another than that of a tool call in message ${asked}`,
        });
      toolUseIds.set(toolUse.id, index);
    }
  }
  return messages;
}
