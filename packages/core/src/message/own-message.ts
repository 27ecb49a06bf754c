import type { Msg } from './msg.ts';

/**
 * Marks a message as the library's own, with `metadata.bypassHistory`. Nobody in the conversation
 * said it: it is a prompt, a hint, or recalled text.
 */
export function asOwn(message: Msg): Msg {
  return { ...message, metadata: { ...message.metadata, bypassHistory: true } };
}

/** Returns whether a message is marked as the library's own. */
export function isOwn({ metadata }: Msg): boolean {
  return metadata?.['bypassHistory'] === true;
}
