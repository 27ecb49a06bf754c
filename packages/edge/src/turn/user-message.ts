import { AgentError } from '@isoloop/core';
import type { Msg } from '@isoloop/core';
import { fromUiMessage } from '@isoloop/core/ai-sdk';

/**
 * A UI message of the user. Throws `INVALID_MESSAGE` for any other, for an id that is not 1 to 128
 * visible characters, and for media whose address is none of http, https and data.
 */
export function readUserMessage(value: unknown): Msg {
  const { id } = Object(value) as { readonly id?: unknown };
  if (id !== undefined && id !== '' && !isMessageId(id)) {
    throw new AgentError(
      'INVALID_MESSAGE',
      'The message has an id that is not 1 to 128 visible characters.',
    );
  }
  const message = fromUiMessage(value);
  for (const block of message.content) {
    if ('source' in block && !isMediaAddress(block.source)) {
      throw new AgentError(
        'INVALID_MESSAGE',
        'The message has a file whose address is none of http, https and data.',
      );
    }
  }
  return message;
}

/** What a message may be called by: 1 to 128 visible characters. */
export function isMessageId(id: unknown): id is string {
  return typeof id === 'string' && /^[!-~]{1,128}$/.test(id);
}

/** Whether a model may be given the address: none of a machine's own files. */
export function isMediaAddress(source: { readonly type: string; readonly url?: string }): boolean {
  return source.type !== 'url' || /^(https?:\/\/|data:)/i.test(source.url ?? '');
}
