import { invalidInput, fieldOf } from '../error/agent-error.ts';
import type { MessageContext, Msg } from '../message/msg.ts';
import { toMessages } from './agent-input.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { either, object, oneOf, optional, string } from '../error/options/kinds.ts';
import type { AllFields, OptionTable } from '../error/options/option-table.ts';

/**
 * Request of `interrupt()` to the running agent call. `stop` (default) ends the call with `message`
 * as the answer, or with the agent's recovery message. `pause` ends the call with reason
 * `suspended`; the next agent call continues the run. `inject` adds messages once all open tool
 * calls have results, and the call continues. Guards check injected messages first and drop the
 * messages that they reject.
 */
export type InterruptRequest =
  | { readonly mode?: 'stop'; readonly message?: string | Msg }
  | { readonly mode: 'pause' }
  | { readonly mode: 'inject'; readonly messages: string | Msg | readonly Msg[] };

/** A valid request of `interrupt()`, with its texts as messages. */
export type CheckedInterrupt =
  | { readonly mode: 'stop'; readonly message: Msg | undefined }
  | { readonly mode: 'pause' }
  | { readonly mode: 'inject'; readonly messages: readonly Msg[] };

/** Name of the middleware that handles the modes `pause` and `inject`. */
export const modesMiddleware = 'steering';

/**
 * Checks a request of `interrupt()`. A text or message is the answer of `stop`. Throws
 * `INVALID_INPUT` for an invalid request, or if the answer contains a tool call or a tool result.
 */
export function checkInterrupt(
  input: string | Msg | InterruptRequest,
  context: Required<MessageContext>,
): CheckedInterrupt {
  const isMessage = typeof input === 'string' || fieldOf(input, 'role') !== undefined;
  const request = (isMessage ? { message: input } : input) as InterruptRequest;
  checkOptions('interrupt()', request, interruptRequest, 'INVALID_INPUT');
  if (request.mode === 'inject')
    checkFields('interrupt()', request, { messages: textOrObject }, 'INVALID_INPUT');
  if (request.mode === 'pause') return { mode: 'pause' };
  if (request.mode === 'inject')
    return { mode: 'inject', messages: toMessages(request.messages, context) };
  const [message] = toMessages(request.message, context);
  if (message?.content.some(({ type }) => type.startsWith('tool_')))
    throw invalidInput('interrupt(): the message must not have tool blocks.');
  return { mode: 'stop', message };
}

const textOrObject = either(string, object);

const interruptRequest: OptionTable<AllFields<InterruptRequest>> = {
  mode: optional(oneOf('stop', 'pause', 'inject')),
  message: optional(textOrObject),
  messages: optional(textOrObject),
};
