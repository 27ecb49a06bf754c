import type { Memory } from '@isoloop/core';
import { fieldError, type TurnRequest } from '@isoloop/core/host';
import { withoutSystem, type HandlerSettings } from '@isoloop/edge/api';
import { goBackTo } from './response-id.ts';

/**
 * Goes back to the point of a session from which a turn continues, and returns the request with the
 * messages that the agent may read. System messages are used only at the beginning of a session,
 * and in turns that name such a point. Rejects like `goBackTo`, and with `INVALID_INPUT` if no
 * message is left.
 */
export async function prepareTurn(
  memory: Memory,
  request: TurnRequest,
  { systemMessages }: HandlerSettings,
): Promise<TurnRequest> {
  if ('afterInputId' in request) await goBackTo(memory, request);
  if (request.kind !== 'messages') return request;
  // A client that names no point may repeat the beginning of the conversation.
  const isNew = request.afterInputId !== undefined || !(await memory.read()).length;
  const messages = request.messages.filter(({ role }) => isNew || role !== 'system');
  if (!messages.length)
    throw fieldError('messages', 'has nothing new after the last message of the assistant');
  return { ...request, messages: systemMessages === 'keep' ? messages : withoutSystem(messages) };
}
