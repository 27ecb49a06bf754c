import { AgentError, fieldsOf } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import { fromUiMessage } from '../stream/ui/ui-messages.ts';

/** Creates an `INVALID_INPUT` error that names the field. */
export function fieldError(param: string, problem: string): AgentError {
  return new AgentError('INVALID_INPUT', `\`${param}\` ${problem}.`, { details: { param } });
}

/**
 * Returns the posted messages, still unchecked. Throws `INVALID_INPUT` if `messages` is not a list,
 * and `PAYLOAD_TOO_LARGE` if it has more than `max` messages.
 */
export function readMessages(
  { messages }: { readonly messages?: unknown },
  max: number,
): readonly unknown[] {
  if (!Array.isArray(messages)) throw fieldError('messages', 'must be a list');
  if (messages.length > max)
    throw new AgentError('PAYLOAD_TOO_LARGE', `The request has more than ${max} messages.`);
  return messages;
}

/**
 * Reads a UI message that the user wrote. Throws `INVALID_MESSAGE` for any other message, and for
 * an id that is not 1 to 128 visible characters.
 */
export function readUserMessage(value: unknown): Msg {
  const { id } = fieldsOf(value);
  if (id !== undefined && id !== '') checkMessageId(id);
  return fromUiMessage(value);
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
