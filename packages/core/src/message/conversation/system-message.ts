import { createMessage, withSystemText, type Msg } from '../msg.ts';

/** Returns a list with the message of a system prompt, or an empty list for a blank text. */
export type SystemMessages = (text: string) => readonly Msg[];

/**
 * Returns a function that makes a system message of a text. Reuses the message for an equal text,
 * because token counts are cached per message object.
 */
export function systemMessages(now: () => number): SystemMessages {
  let last: { readonly text: string; readonly messages: readonly Msg[] } | undefined;
  return (text) => {
    if (last?.text !== text) {
      const isBlank = !text.trim();
      const messages = isBlank ? [] : [createMessage('system', text, { id: 'system', now })];
      last = { text, messages };
    }
    return last.messages;
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
  let last: { readonly system: Msg | undefined; readonly text: string; readonly message: Msg };
  return (messages, text) => {
    const [first] = messages;
    const system = first?.role === 'system' ? first : undefined;
    if (last?.system !== system || last?.text !== text)
      last = { system, text, message: system ? withSystemText(system, text) : create(text) };
    return [last.message, ...messages.slice(system ? 1 : 0)];
  };
}

/** Returns the messages of a request with a message after its system messages. */
export function afterSystem(messages: readonly Msg[], message: Msg): readonly Msg[] {
  const start = messages.findIndex(({ role }) => role !== 'system');
  return messages.toSpliced(start < 0 ? messages.length : start, 0, message);
}
