import { checkMessageId } from '@isoloop/core/host';
import type { Context } from 'hono';
import type { EdgeEnv } from '../settings/handler-options.ts';
import { noQueueError } from '../session/answer-in-request.ts';
import { askSession } from '../session/commands.ts';
import { setupOf } from '../session/setup.ts';

/**
 * Handles `DELETE /api/chat/:id/queue/:messageId`: takes back a message that waits or has failed.
 * Answers 204. Throws `NOT_FOUND` if there is none, for example because its turn has begun. Throws
 * `NEEDS_DURABLE_OBJECT` without a Durable Object, because no message waits in KV.
 */
export async function withdrawRoute(c: Context<EdgeEnv>): Promise<Response> {
  const messageId: unknown = c.req.param('messageId');
  checkMessageId(messageId);
  const answer = askSession(c, setupOf(c).sessionId, { type: 'withdraw', messageId });
  if (answer) return answer;
  throw noQueueError();
}
