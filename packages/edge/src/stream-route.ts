import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings } from './handler-options.ts';
import { askSession, sessionObject } from './session-command.ts';
import { checkSession } from './session.ts';

/**
 * `GET /api/chat/:id/stream`: the turn that runs, from its beginning on, or from behind the event that `Last-Event-ID` names; 204 where
 * none runs, and where sessions are in KV. `?events=true` adds the agent's events.
 */
export async function streamRoute(c: Context<EdgeEnv>, settings: HandlerSettings): Promise<Response> {
  const session = checkSession(c.req.param('id'));
  const user = c.get('user');
  const object = sessionObject(c.env, user, session);
  if (!object) return new Response(null, { status: 204, headers: { 'cache-control': 'no-store' } });
  const lastEventId = c.req.header('last-event-id');
  const events = settings.events === true || c.req.query('events') === 'true';
  const command = { type: 'stream', events, ...(lastEventId !== undefined && { lastEventId }) } as const;
  return askSession(object, { user, session, requestId: c.get('requestId'), command });
}
