import { AgentError } from '@isoloop/core';
import type { Context } from 'hono';
import type { ChatInfo } from '../session/chat-index.ts';
import { chatsIn, pageOf } from '../session/chat-index.ts';
import type { EdgeEnv, HandlerSettings } from '../handler-options.ts';
import type { KvTitles } from '../store/kv-titles.ts';
import { invalidField } from '../http/request-body.ts';
import { forgetSession, noContent } from '../session/hosted-session.ts';
import { askerOf } from '../session/session-command.ts';
import { checkSession, kvOf, kvSessionsOf, openMemory } from '../turn/session.ts';

const maxLimit = 1000;

/**
 * Handles `GET /api/chats`: returns the user's conversations as `{ chats: [{ sessionId, title?,
 * createdAt, updatedAt }] }`, the most recently changed first. `?limit=` is the number of
 * conversations on a page, 100 by default and 1000 at most. A page has more if several
 * conversations have the same time as the last one. For the next page, pass the last `updatedAt` as
 * `?before=`.
 */
export async function chatsRoute(
  c: Context<EdgeEnv>,
  settings: Pick<HandlerSettings, 'kv' | 'memory'>,
): Promise<Response> {
  const limit = count(c, 'limit') ?? 100;
  if (limit < 1 || limit > maxLimit)
    throw invalidField('limit', `must be a number from 1 to ${maxLimit}`);
  const page = { limit, before: count(c, 'before') };
  const ask = askerOf(c, '');
  if (ask) return ask({ type: 'list', ...page });
  const { titles, chats } = await chatsInKv(c, settings);
  const titleOf = await titles.read();
  const titled = (chat: ChatInfo): ChatInfo => ({
    ...chat,
    title: titleOf(chat.sessionId) ?? chat.title,
  });
  return Response.json({ chats: pageOf(chats, page).map(titled) });
}

/**
 * Handles `DELETE /api/chat/:id`: deletes the conversation, and calls `forget` for data outside the
 * memory. Answers 204, even if there is no such conversation.
 */
export async function deleteRoute(
  c: Context<EdgeEnv>,
  settings: Pick<HandlerSettings, 'agent' | 'kv' | 'memory' | 'models'>,
): Promise<Response> {
  const sessionId = checkSession(c.req.param('id'));
  const user = c.get('caller').user;
  const ask = askerOf(c, sessionId);
  if (ask) return ask({ type: 'delete' });
  const setup = { env: c.env, sessionId, user };
  const memory = await openMemory(settings, { ...setup, withoutEcho: 'latest' });
  await forgetSession(settings, setup, memory);
  const kv = kvOf(c.env);
  if (kv && !settings.memory) await kvSessionsOf(settings).titles(kv, user).delete(sessionId);
  return noContent();
}

/**
 * Returns the user's conversations in KV, the most recently changed first, with the titles in their
 * logs. Throws `NEEDS_DURABLE_OBJECT` if the endpoint stores conversations elsewhere.
 */
export async function chatsInKv(
  c: Context<EdgeEnv>,
  settings: Pick<HandlerSettings, 'kv' | 'memory'>,
): Promise<{ readonly titles: KvTitles; readonly chats: readonly ChatInfo[] }> {
  const kv = kvOf(c.env);
  if (settings.memory || !kv)
    throw new AgentError(
      'NEEDS_DURABLE_OBJECT',
      'Only sessions in CHAT_SESSION or CHAT_KV can be listed and renamed.',
    );
  const { user } = c.get('caller');
  const { store, titles } = kvSessionsOf(settings);
  return { titles: titles(kv, user), chats: await chatsIn(store(kv), user) };
}

function count(c: Context<EdgeEnv>, name: string): number | undefined {
  const value = c.req.query(name);
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value)) throw invalidField(name, 'must be a whole number');
  return Number(value);
}
