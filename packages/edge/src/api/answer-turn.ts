import { InMemoryMemory } from '@isoloop/core';
import type { TurnRequest } from '@isoloop/core/host';
import type { Context } from 'hono';
import { closeInBackground } from '../http/request-context.ts';
import type { RequestBody } from '../http/request-body.ts';
import { sendTurn } from '../session/send-turn.ts';
import type { EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import { objectsOf } from '../settings/session-home.ts';
import type { ApiCall, ApiFormat } from '../settings/openai-part.ts';
import { openTurn } from '../answer/live-response.ts';
import { readEcho } from '../answer/echo.ts';
import { makeAgent, setupOf } from '../session/setup.ts';

/** A turn of a stored session, and how its client gets the answer. */
export interface StoredTurn {
  readonly sessionId: string;
  /** Model name that the client requested. */
  readonly model: string;
  readonly turnRequest: TurnRequest;
  readonly call: ApiCall;
  /** Fields that `call` was read from. A queued turn stores them. */
  readonly fields: RequestBody;
  readonly format: ApiFormat;
}

/** Answers a turn of a stored session. The turn continues if the client disconnects. */
export function answerTurn(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  turn: StoredTurn,
): Promise<Response> {
  return openTurn(c, settings, turn.format, answerInSession(c, settings, turn));
}

async function answerInSession(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  { sessionId, model, turnRequest, call, fields, format }: StoredTurn,
): Promise<Response> {
  const setup = setupOf(c, sessionId);
  // Checks the client's tools before the request reaches the Durable Object, so that a refused turn
  // creates no session.
  if (fields['tools'] != null && objectsOf(c.get('home'))) {
    const memory = new InMemoryMemory();
    const sessionAgent = await makeAgent(settings, { ...setup, model, memory });
    closeInBackground(c, sessionAgent);
    call.check(sessionAgent.agent);
  }
  const sent = { request: turnRequest, model, fields, call, format, echoSetup: readEcho(c) };
  return sendTurn(c, settings, setup, sent);
}
