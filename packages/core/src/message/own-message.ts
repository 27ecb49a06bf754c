import { metadataOf, withMetadata } from './metadata-keys.ts';
import type { Msg } from './msg.ts';

/**
 * Marks a message as the library's own, with `metadata.bypassHistory`. Nobody in the conversation
 * said it: it is a prompt, a hint, or recalled text. A `false` in this field stays, because it
 * marks a message that a client wrote.
 */
export function asOwn(message: Msg): Msg {
  return withMetadata(message, { bypassHistory: true, ...message.metadata });
}

/** Returns whether a message is marked as the library's own. */
export function isOwn(message: Msg): boolean {
  return metadataOf(message).bypassHistory === true;
}
