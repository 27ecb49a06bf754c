import { AgentError } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/check-fields.ts';
import type { MessageContext } from '../../message/create-message.ts';
import type { Msg } from '../../message/msg.ts';
import { inject } from '../input/guard-input.ts';
import { toCallInput } from '../input/call-input.ts';
import type { InterruptRequest } from '../../event/interrupt-request.ts';
import type { Run } from './run.ts';

/**
 * Asks a run to stop, to pause or to add messages. Returns false if there is no run or the run is
 * about to end. Throws `INVALID_INPUT` for an invalid request, or if the answer contains a tool
 * call or a tool result.
 */
export function interruptRun(
  run: Run | undefined,
  given: string | Msg | InterruptRequest,
  context: MessageContext,
): boolean {
  const asked = toInterruptRequest(given);
  const isInjection = asked.mode === 'inject';
  const { message: words } = asked as { readonly message?: string | Msg };
  const messages = toMessages(isInjection ? asked.messages : words, context);
  const [message] = messages;
  if (!isInjection && message?.content.some(({ type }) => type.startsWith('tool_')))
    throw new AgentError('INVALID_INPUT', 'interrupt(): the message must not have tool blocks.');
  if (!run || run.closed) return false;
  if (isInjection) inject(run, messages);
  else run.interrupt(asked.mode === 'pause' || !message ? asked : { ...asked, message });
  return true;
}

/**
 * Converts the input to messages. Throws `INVALID_INPUT` if the input contains anything else, such
 * as decisions.
 */
export function toMessages(
  input: string | Msg | readonly Msg[] | undefined,
  context: MessageContext,
): readonly Msg[] {
  const { messages, decisions } = toCallInput(input, context);
  if (decisions.length)
    throw new AgentError('INVALID_INPUT', 'Only `call` and `stream` take decisions.');
  return messages;
}

/** Converts a text or message to a request. Throws `INVALID_INPUT` for an invalid request. */
function toInterruptRequest(given: string | Msg | InterruptRequest): InterruptRequest {
  const request = (
    typeof given === 'string' || 'role' in Object(given) ? { message: given } : given
  ) as InterruptRequest;
  const fields = 'mode:stop|pause|inject|? message:string|object|? messages:string|object';
  const optional = request?.mode === 'inject' ? '' : '|?';
  checkOptions('INVALID_INPUT', 'interrupt()', request, fields + optional);
  return request;
}
