import { AgentError } from '@isoloop/core';
import { fieldError } from '@isoloop/core/host';
import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import { checkNames, readJson } from '../http/request-body.ts';
import { askSession } from '../session/commands.ts';
import { setupOf } from '../session/setup.ts';

const maxReasonLength = 10_000;

/**
 * Handles `POST /api/chat/:id/interrupt` with `{ mode?, reason? }` or no body. Stops the running
 * turn of the session, even if another client started the turn. A `reason` becomes a message of the
 * user, after the guards, because only the agent chooses the assistant's words. Answers `{
 * interrupted }`, which is false if no turn is running. Throws `NEEDS_DURABLE_OBJECT` without a
 * Durable Object, because a run in KV cannot be reached from another connection.
 */
export async function interruptRoute(
  c: Context<EdgeEnv>,
  { limits }: HandlerSettings,
): Promise<Response> {
  const { sessionId } = setupOf(c);
  const hasBody = c.req.header('content-type') !== undefined;
  const reading = hasBody && readJson(c.req.raw, limits.bodyBytes, { mayBeEmpty: true });
  const body = (await reading) || {};
  checkNames(body, ['mode', 'reason']);
  const { mode = 'stop', reason } = body;
  if (mode !== 'stop' && mode !== 'abort') throw fieldError('mode', 'must be "stop" or "abort"');
  if (reason !== undefined && (mode !== 'stop' || !isReason(reason))) {
    throw fieldError(
      'reason',
      `must be a text of at most ${maxReasonLength} characters, with the mode "stop"`,
    );
  }
  const answer = askSession(c, sessionId, { type: 'interrupt', mode, reason });
  if (answer) return answer;
  throw new AgentError(
    'NEEDS_DURABLE_OBJECT',
    'Only a session in a Durable Object can be interrupted: bind CHAT_SESSION.',
  );
}

function isReason(reason: unknown): reason is string {
  return typeof reason === 'string' && reason.trim() !== '' && reason.length <= maxReasonLength;
}
