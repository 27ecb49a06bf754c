import { createMessage } from './create-message.ts';
import type { Msg } from './msg.ts';

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
