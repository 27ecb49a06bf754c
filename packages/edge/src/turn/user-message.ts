import { AgentError } from '@isoloop/core';
import type { Msg } from '@isoloop/core';
import { fromUiMessage } from '@isoloop/core/ai-sdk';

/**
 * Reads a UI message that the user wrote. Throws `INVALID_MESSAGE` for any other message, and for
 * an id that is not 1 to 128 visible characters. Throws `INVALID_MESSAGE` also for media whose URL
 * is not http, https or data.
 */
export function readUserMessage(value: unknown): Msg {
  const { id } = Object(value) as { readonly id?: unknown };
  if (id !== undefined && id !== '') checkMessageId(id);
  const message = fromUiMessage(value);
  for (const block of message.content) {
    if ('source' in block && !isMediaAddress(block.source)) {
      throw new AgentError(
        'INVALID_MESSAGE',
        'The message has a file whose URL is not http, https or data.',
      );
    }
  }
  return message;
}

/** Throws `INVALID_MESSAGE` for an id that is not 1 to 128 visible characters. */
export function checkMessageId(id: unknown): asserts id is string {
  if (!isMessageId(id))
    throw new AgentError(
      'INVALID_MESSAGE',
      'The message has an id that is not 1 to 128 visible characters.',
    );
}

/** Returns whether a value is a valid message id: 1 to 128 visible characters. */
export function isMessageId(id: unknown): id is string {
  return typeof id === 'string' && /^[!-~]{1,128}$/.test(id);
}

/**
 * Returns whether a media source is inline or has an http, https or data URL. Other URLs, such as
 * `file:`, must not reach a model.
 */
export function isMediaAddress(source: { readonly type: string; readonly url?: string }): boolean {
  return source.type !== 'url' || /^(https?:\/\/|data:)/i.test(source.url ?? '');
}
