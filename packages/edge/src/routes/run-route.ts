import { userMessage } from '@isoloop/core';
import type { Context } from 'hono';
import { readKey } from '../turn/asked-again.ts';
import type { EdgeEnv, EdgeLimits, HandlerSettings } from '../handler-options.ts';
import { checkModel, invalidField, readJson } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';
import type { SessionTurn } from '../session/session-turn.ts';
import { turnHost, type HostSettings } from '../session/turn-host.ts';
import { readDecisions } from '../turn/read-decisions.ts';
import { checkSession, readEcho } from '../turn/session.ts';
import { readUserMessage } from '../turn/user-message.ts';

/**
 * Handles `POST /api/run`: runs a turn and answers with the agent's own events, without prompts.
 * For clients without AI SDK.
 *
 * - `{ id, model?, input }` asks, with a text or a UI message.
 * - `{ id, decisions }` decides about pending calls.
 * - `{ id }` alone continues from the log.
 *
 * Event stream clients post again with `Last-Event-ID` after a lost connection. Such a request
 * starts no turn; it acts like `GET /api/chat/:id/stream?events=only`.
 */
export async function runRoute(
  c: Context<EdgeEnv>,
  settings: HostSettings & Pick<HandlerSettings, 'models'>,
): Promise<Response> {
  const { limits, models } = settings;
  const body = await readJson(c.req.raw, limits.bodyBytes);
  const host = turnHost(c, settings, checkSession(body['id']));
  const lastEventId = c.req.header('last-event-id');
  if (lastEventId) return host.reconnect({ kind: 'events' }, lastEventId);
  const model = body['model'] === undefined ? models[0]! : checkModel(body['model'], models);
  const turn = readRun(body, limits);
  const messageId = crypto.randomUUID();
  return host.answer({
    turn: { turn, model, messageId, requestId: c.get('requestId'), ...readKey(c) },
    face: { kind: 'events' },
    echo: readEcho(c),
  });
}

const fields: readonly string[] = ['id', 'model', 'input', 'decisions'];

function readRun(body: RequestBody, limits: EdgeLimits): SessionTurn {
  const unknown = Object.keys(body).find((field) => !fields.includes(field));
  // An input under another name would be ignored, and the agent would continue from the log.
  if (unknown !== undefined)
    throw invalidField(unknown, `is not a field of a run. Use: ${fields.join(', ')}`);
  const { input, decisions } = body;
  if (input !== undefined && decisions !== undefined)
    throw invalidField('decisions', 'cannot be combined with `input`');
  if (decisions !== undefined)
    return { kind: 'decide', decisions: readDecisions(decisions, limits) };
  if (input === undefined) return { kind: 'continue' };
  if (typeof input === 'string' && !input.trim()) throw invalidField('input', 'must not be empty');
  // Gets a new id: an id already in the log would name two messages there.
  const message =
    typeof input === 'string'
      ? userMessage(input)
      : { ...readUserMessage(input), id: crypto.randomUUID() };
  return { kind: 'messages', messages: [message] };
}
