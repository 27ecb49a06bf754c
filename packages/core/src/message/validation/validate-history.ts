import { toolUsesOf } from '../message-text.ts';
import type { Msg } from '../msg.ts';
import { invalidMessage, parseMessages } from './validate-message.ts';

/**
 * Checks a whole conversation from outside that an agent starts with or continues. It makes the
 * checks of `parseMessages`. Also, no two messages and no two tool calls may share an id; otherwise
 * results could be confused. Returns the same array, or throws `INVALID_MESSAGE` with index, id and
 * field.
 *
 * A call without a result is open and allowed. A result without a call, as in a trimmed history, is
 * not sent to a model.
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
