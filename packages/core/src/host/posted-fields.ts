import { AgentError } from '../error/agent-error.ts';

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
