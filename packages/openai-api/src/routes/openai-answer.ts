import type { Msg } from '@isoloop/core';
import {
  answerConversation,
  type ApiCall,
  type EdgeEnv,
  type HandlerSettings,
} from '@isoloop/edge/api';
import type { Context } from 'hono';
import { answerEncoder, wholeAnswer, type OpenAiFormat } from '../request/completion-answer.ts';
import { checkConversation, type ParamOf } from '../request/completion-messages.ts';

/**
 * Header with the id of a stored session. Without this header, a request to `/v1` contains the
 * whole conversation.
 */
export const sessionHeader = 'x-isoloop-session';

/** Request with the whole conversation, whose fields are checked. */
interface WholeConversation {
  readonly model: string;
  readonly call: ApiCall;
  readonly format: OpenAiFormat;
  readonly postedMessages: readonly Msg[];
  /** Names the field of a posted message, for errors. Default: `messages[…]`. */
  readonly paramOf?: ParamOf;
  /** Id of the agent's session, which is not stored. */
  readonly id: string;
}

/** Answers a request that is not a turn of a stored session. */
export function answerWhole(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  { id, model, call, format, postedMessages, paramOf }: WholeConversation,
): Promise<Response> {
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
