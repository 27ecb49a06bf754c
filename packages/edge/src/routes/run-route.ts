import { userMessage } from '@isoloop/core';
import { fieldError, readUserMessage, type TurnRequest } from '@isoloop/core/host';
import type { Context } from 'hono';
import type { EdgeEnv, EdgeLimits, HandlerSettings } from '../settings/handler-options.ts';
import { checkModel, checkNames, readJson, type RequestBody } from '../http/request-body.ts';
import { rejoinTurn, sendTurn } from '../session/send-turn.ts';
import { openTurn } from '../answer/live-response.ts';
import { checkEdits, readDecisions } from './decisions.ts';
import { readEcho } from '../answer/echo.ts';
import { checkSessionId, setupOf } from '../session/setup.ts';

/**
 * Handles `POST /api/run`, for clients without the AI SDK: runs a turn and answers with a stream of
 * the agent's events, without prompts. The body is one of these:
 *
 * - `{ sessionId, model?, input }` sends a text or a UI message.
 * - `{ sessionId, decisions }` decides about pending tool calls.
 * - `{ sessionId }` alone continues from the stored log.
 *
 * After a lost connection, event stream clients repeat the request with the header `Last-Event-ID`.
 * A request with this header starts no turn. It does the same as `GET
 * /api/chat/:id/stream?events=only`.
 */
export async function runRoute(c: Context<EdgeEnv>, settings: HandlerSettings): Promise<Response> {
  const { limits, models } = settings;
  const body = await readJson(c.req.raw, limits.bodyBytes);
  // A misspelled `input` would otherwise be ignored, and the agent would continue from the log.
  checkNames(body, ['sessionId', 'model', 'input', 'decisions']);
  const setup = setupOf(c, checkSessionId(body['sessionId'], 'sessionId'));
  const lastEventId = c.req.header('last-event-id');
  const format = { kind: 'events' } as const;
  if (lastEventId) return openTurn(c, settings, format, rejoinTurn(c, setup, format, lastEventId));
  const model = body['model'] === undefined ? models[0]! : checkModel(body['model'], models);
  const request = readRunRequest(body, limits);
  if (request.kind === 'decide') checkEdits(request.decisions, c.get('caller'));
  const sent = { request, model, format, echoSetup: readEcho(c) };
  const answer = sendTurn(c, settings, setup, sent);
  return openTurn(c, settings, format, answer);
}

function readRunRequest(body: RequestBody, limits: EdgeLimits): TurnRequest {
  const { input, decisions } = body;
  if (input !== undefined && decisions !== undefined)
    throw fieldError('decisions', 'cannot be combined with `input`');
  if (decisions !== undefined)
    return { kind: 'decide', decisions: readDecisions(decisions, limits) };
  if (input === undefined) return { kind: 'continue' };
  if (typeof input === 'string' && !input.trim()) throw fieldError('input', 'must not be empty');
  // The message gets a new id, because the log may already have a message with the client's id.
  const message =
    typeof input === 'string'
      ? userMessage(input)
      : { ...readUserMessage(input), id: crypto.randomUUID() };
  return { kind: 'messages', messages: [message] };
}
