import { checkOptions } from '../error/check-fields.ts';
import type { Msg } from '../message/msg.ts';

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

/** Converts a text or message to a request. Throws `INVALID_INPUT` for an invalid request. */
export function toInterruptRequest(given: string | Msg | InterruptRequest): InterruptRequest {
  const request = (
    typeof given === 'string' || 'role' in Object(given) ? { message: given } : given
  ) as InterruptRequest;
  const fields = 'mode:stop|pause|inject|? message:string|object|? messages:string|object';
  const optional = request?.mode === 'inject' ? '' : '|?';
  checkOptions('INVALID_INPUT', 'interrupt()', request, fields + optional);
  return request;
}

/** Name of the middleware that handles the modes `pause` and `inject`. */
export const modesRequire = 'steering';
