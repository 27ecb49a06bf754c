import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings } from '../handler-options.ts';
import { invalidField, readJson } from '../http/request-body.ts';
import { noContent } from '../session/hosted-session.ts';
import { askerOf, unknownChat } from '../session/session-command.ts';
import { checkSession } from '../turn/session.ts';
import { chatsInKv } from './chats-route.ts';

const maxTitle = 200;

/**
 * Handles `PATCH /api/chat/:id` with `{ title }`: gives the conversation another title in the list.
 * Answers 204, or 404 if there is no such conversation. The time of the last change stays.
 */
export async function renameRoute(
  c: Context<EdgeEnv>,
  settings: Pick<HandlerSettings, 'kv' | 'limits' | 'memory'>,
): Promise<Response> {
  const sessionId = checkSession(c.req.param('id'));
  const title = checkTitle((await readJson(c.req.raw, settings.limits.bodyBytes))['title']);
  const ask = askerOf(c, sessionId);
  if (ask) return ask({ type: 'rename', title });
  const { titles, chats } = await chatsInKv(c, settings);
  if (!chats.some((chat) => chat.sessionId === sessionId)) throw unknownChat();
  await titles.set(sessionId, title);
  return noContent();
}

function checkTitle(title: unknown): string {
  const text = typeof title === 'string' ? title.trim() : '';
  if (text && text.length <= maxTitle) return text;
  throw invalidField('title', `must be a text of 1 to ${maxTitle} characters`);
}
