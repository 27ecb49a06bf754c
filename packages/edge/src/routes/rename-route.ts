import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings } from '../handler-options.ts';
import { invalidField, readJson } from '../http/request-body.ts';
import { askSession, sessionObject, unknownChat } from '../session/session-command.ts';
import { KvTitles } from '../store/kv-titles.ts';
import { checkSession } from '../turn/session.ts';
import { chatsInKv } from './chats-route.ts';

const maxTitle = 200;

/**
 * Handles `PATCH /api/chat/:id` with `{ title }`: gives the conversation another title in the list.
 * Answers 204, or 404 if there is no such conversation. The time of the last change stays.
 */
export async function renameRoute(
  c: Context<EdgeEnv>,
  settings: Pick<HandlerSettings, 'limits' | 'memory'>,
): Promise<Response> {
  const session = checkSession(c.req.param('id'));
  const title = checkTitle((await readJson(c.req.raw, settings.limits.bodyBytes))['title']);
  const user = c.get('user');
  const object = sessionObject(c.env, user, session);
  if (object) {
    const command = { type: 'rename', title } as const;
    return askSession(object, { user, session, requestId: c.get('requestId'), command });
  }
  const { kv, chats } = await chatsInKv(c, settings);
  if (!chats.some(({ id }) => id === session)) throw unknownChat();
  await new KvTitles(kv, user).set(session, title);
  return new Response(null, { status: 204 });
}

function checkTitle(title: unknown): string {
  const text = typeof title === 'string' ? title.trim() : '';
  if (text && text.length <= maxTitle) return text;
  throw invalidField('title', `must be a text of 1 to ${maxTitle} characters`);
}
