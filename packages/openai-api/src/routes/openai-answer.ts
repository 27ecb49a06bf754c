import type { Msg } from '@isoloop/core';
import type { TurnRequest } from '@isoloop/core/host';
import {
  answerConversation,
  answerTurn,
  type ApiCall,
  type EdgeEnv,
  type HandlerSettings,
  type RequestBody,
} from '@isoloop/edge/api';
import type { Context } from 'hono';
import { answerEncoder, wholeAnswer, type OpenAiFormat } from '../request/completion-answer.ts';
import { checkConversation, type ParamOf } from '../request/completion-messages.ts';

/**
 * Header with the id of a stored session. Without this header, a request to `/v1` contains the
 * whole conversation.
 */
export const sessionHeader = 'x-isoloop-session';

/** Request of a client of OpenAI, whose fields are checked. */
export interface OpenAiRequest {
  readonly model: string;
  readonly call: ApiCall;
  readonly format: OpenAiFormat;
}

export interface WholeConversation {
  readonly postedMessages: readonly Msg[];
  /** Names the field of a posted message, for errors. Default: `messages[…]`. */
  readonly paramOf?: ParamOf;
  /** Id of the agent's session, which is not stored. */
  readonly id: string;
}

export interface SessionTurn {
  readonly sessionId: string;
  readonly turnRequest: TurnRequest;
  /** Fields that `call` was read from. */
  readonly fields: RequestBody;
}

/** Answers a request whose fields are checked. */
export function answer(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  request: OpenAiRequest & (WholeConversation | SessionTurn),
): Promise<Response> {
  if ('sessionId' in request) return answerTurn(c, settings, request);
  const { id, model, call, format, postedMessages, paramOf } = request;
  return answerConversation(c, settings, {
    id,
    model,
    messages: postedMessages,
    call,
    format,
    check: (agent) => checkConversation(postedMessages, agent, paramOf),
    wholeAnswer: (result) => wholeAnswer(result, format),
    encoder: () => answerEncoder(format, call),
  });
}
