import { fieldError } from '@isoloop/core/host';
import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import { rejoinTurn } from '../session/send-turn.ts';
import { openTurn } from '../answer/live-response.ts';
import { setupOf } from '../session/setup.ts';
import { acceptedFormat, type StreamFormat } from '../answer/formats.ts';

/**
 * Handles `GET /api/chat/:id/stream`: streams the running turn of the session, even if another
 * client started the turn. The stream starts at the turn's beginning, or after the event that the
 * header `Last-Event-ID` names. Answers 204 if no turn is running, and always for sessions in KV.
 * A client that accepts `objectMediaType` gets the object from its beginning. `?events=true` adds
 * the agent's events. `?events=only` returns only the agent's events, like `POST /api/run`.
 * `?events=inspect` does the same with the prompts, if the option `inspect` allows the user to see
 * them.
 */
export async function streamRoute(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
): Promise<Response> {
  const setup = setupOf(c);
  const { events = 'false', typed = 'false' } = c.req.query();
  if (!/^(true|false|only|inspect)$/.test(events))
    throw fieldError('events', 'must be true, false, only or inspect');
  if (!/^(true|false)$/.test(typed)) throw fieldError('typed', 'must be true or false');
  const inspect = events === 'inspect' && (await settings.inspect?.(c.get('caller'))) === true;
  const format: StreamFormat =
    events === 'true' || events === 'false'
      ? acceptedFormat(c, { events: settings.events || events === 'true', typed: typed === 'true' })
      : { kind: 'events', inspect };
  const lastEventId = c.req.header('last-event-id') || undefined;
  const answer = rejoinTurn(c, setup, format, lastEventId);
  return openTurn(c, settings, format, answer);
}
