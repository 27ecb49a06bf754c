import { createMessage, withSystemText, type Msg } from './msg.ts';

/** Converts a system prompt to a message. Returns nothing for a blank text. */
export type ToSystemMessage = (text: string) => Msg | undefined;

/**
 * Returns a function that converts a text to a system message. Reuses the message for an equal
 * text, because token counts are cached per message object.
 */
export function systemMessages(now: () => number): ToSystemMessage {
  let last: { readonly text: string; readonly message: Msg } | undefined;
  return (text) => {
    if (!text.trim()) return undefined;
    if (last?.text !== text)
      last = { text, message: createMessage('system', text, { id: 'system', now }) };
    return last.message;
  };
}

/**
 * Returns a function that adds a text to the system message of a request. Without one, `create`
 * makes it. Reuses the message for the same text and message, because the JSON for the provider is
 * cached per message object.
 */
export function systemTextAdder(
  create: (text: string) => Msg,
): (messages: readonly Msg[], text: string) => readonly Msg[] {
  let last: { readonly before: Msg | undefined; readonly text: string; readonly message: Msg };
  return (messages, text) => {
    const [first] = messages;
    const before = first?.role === 'system' ? first : undefined;
    if (last?.before !== before || last?.text !== text)
      last = { before, text, message: before ? withSystemText(before, text) : create(text) };
    return [last.message, ...messages.slice(before ? 1 : 0)];
  };
}
