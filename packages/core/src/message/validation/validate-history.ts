import { toolUsesOf } from '../message-text.ts';
import type { Msg } from '../msg.ts';
import { invalidMessage, parseMessages } from './validate-message.ts';

/**
 * Checks a whole conversation from outside, before an agent uses it. Makes the checks of
 * `parseMessages`. Also, each message and each tool call must have a unique id, because results
 * name the id of their tool call. Returns the same array, or throws `INVALID_MESSAGE` with index,
 * id and field.
 *
 * A tool call without a result is allowed. A result without a tool call, as in a trimmed history,
 * is also allowed, but models do not get it.
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
        expected: `different from the id of message ${before}`,
      });
    ids.set(message.id, index);
    for (const toolUse of toolUsesOf(message)) {
      const field = `content[${message.content.indexOf(toolUse)}].id`;
      const asked = toolUseIds.get(toolUse.id);
      if (asked !== undefined)
        throw invalidMessage(index, message, {
          field,
          expected: `different from the id of a tool call in message ${asked}`,
        });
      toolUseIds.set(toolUse.id, index);
    }
  }
  return messages;
}
