import { AgentError } from '@isoloop/core';
import { checkFields, checkNoOptions, string, whole } from '@isoloop/core/options';
import type { OwnerChange, SessionCopy } from '@isoloop/core/move';
import type { Context } from 'hono';
import type { EndpointPart } from '../settings/endpoint-part.ts';
import type { EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import { sessionSecrets } from '../http/secrets.ts';
import { echoHeader } from '../http/header-names.ts';
import { readJson } from '../http/request-body.ts';
import { movingObject, type MoveCommand } from './moving-object.ts';
import { keepEndedCalls } from './kept-calls.ts';
import { takeKvStep } from './kv-move.ts';
import type { MoveStep } from './moving-place.ts';
import { callSession, requestOf } from '../session/commands.ts';
import { missingHomeError } from '../session/homes.ts';
import { setupOf } from '../session/setup.ts';

/**
 * Lets conversations move between this endpoint and other places, such as browsers, with
 * `moveSession()` of `@isoloop/web-worker/move`. Adds two routes for the user's own conversations:
 * `GET /api/chat/:id` returns a whole conversation, or 204 if there is none. `PUT /api/chat/:id`
 * stores one.
 *
 * @example
 * createAgentHandler<Env>({ agent, authorize, moves: sessionMoves() });
 */
export function sessionMoves(): EndpointPart;
export function sessionMoves(...args: readonly unknown[]): EndpointPart {
  checkNoOptions('sessionMoves()', args);
  return {
    routes: {
      '/api/chat/:id': {
        GET: (c, settings) => moveStep(c, settings, { type: 'read' }),
        PUT: putRoute,
      },
    },
    session: movingObject,
    keepOnDelete: keepEndedCalls,
  };
}

/**
 * Handles `PUT /api/chat/:id`. The body is a copy from `GET`, or the change of the owner `{ owner,
 * epoch, copyOf }`. Answers 204. Answers 409 with `SESSION_CONFLICT`, `SESSION_MOVED` or
 * `AGENT_BUSY`, and 503 with `SESSION_STALE`. See `SessionPlace`.
 */
async function putRoute(c: Context<EdgeEnv>, settings: HandlerSettings): Promise<Response> {
  const body = await readJson(c.req.raw, settings.limits.bodyBytes);
  if ('records' in body) {
    const copy = body as unknown as SessionCopy;
    return moveStep(c, settings, { type: 'put', copy });
  }
  checkFields('The body', body, { owner: string, copyOf: string, epoch: whole }, 'INVALID_INPUT');
  const { owner, epoch, copyOf } = body as unknown as OwnerChange;
  return moveStep(c, settings, { type: 'set-owner', change: { owner, epoch, copyOf } });
}

async function moveStep(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  step: MoveStep,
): Promise<Response> {
  const mayEdit = c.get('caller').mayEdit !== false;
  const setup = { ...setupOf(c), mayEdit };
  const home = c.get('home');
  if (home.kind === 'none') throw missingHomeError();
  if (home.kind === 'kv' && sessionSecrets(c.env).length) {
    const echo = c.req.header(echoHeader);
    return takeKvStep(step, { kv: home.namespace, settings, setup, echo });
  }
  if (home.kind !== 'object' || !home.hasMessages) {
    const message = 'Only sessions in CHAT_SESSION, or in CHAT_KV with SESSION_SECRET, can move.';
    throw new AgentError('NEEDS_DURABLE_OBJECT', message);
  }
  const command: MoveCommand = { type: 'move', step, mayEdit };
  return callSession(home.objects, requestOf(c, setup.sessionId, command));
}
