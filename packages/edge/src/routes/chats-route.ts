import { AgentError } from '@isoloop/core';
import type { Context } from 'hono';
import type { ListedSession } from '../session/session-index.ts';
import { listedSessions, pageOf } from '../session/session-index.ts';
import type { EdgeEnv, HandlerSettings } from '../handler-options.ts';
import type { KvTitles } from '../store/kv-sessions.ts';
import { invalidField, readJson } from '../http/request-body.ts';
import { forgetSession, noContent } from '../session/hosted-session.ts';
import { askerOf, unknownSession } from '../session/session-command.ts';
import { kvOf, kvSessionsOf, openMemory, setupOf } from '../turn/session.ts';

/** Maximum number of conversations on a page. */
const maxLimit = 1000;

/** Maximum length of a title, in characters. */
const maxTitle = 200;

/**
 * Handles `GET /api/chats`: returns the user's conversations as `{ chats: [{ sessionId, title?,
 * createdAt, updatedAt }] }`, the most recently changed first. `?limit=` is the number of
 * conversations on a page, 100 by default and 1000 at most. A page has more if several
 * conversations have the same time as the last one. For the next page, pass the last `updatedAt` as
 * `?before=`.
 */
export async function chatsRoute(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
): Promise<Response> {
  const limit = count(c, 'limit') ?? 100;
  if (limit < 1 || limit > maxLimit)
    throw invalidField('limit', `must be a number from 1 to ${maxLimit}`);
  const page = { limit, before: count(c, 'before') };
  const ask = askerOf(c, '');
  if (ask) return ask({ type: 'list', ...page });
  const { titles, sessions } = await sessionsInKv(c, settings);
  const titleOf = await titles.read();
  const titled = (session: ListedSession): ListedSession => ({
    ...session,
    title: titleOf(session.sessionId) ?? session.title,
  });
  return Response.json({ chats: pageOf(sessions, page).map(titled) });
}

/**
 * Handles `DELETE /api/chat/:id`: deletes the conversation, and calls `deleteSession` for data outside the
 * memory. Answers 204, even if there is no such conversation.
 */
export async function deleteRoute(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
): Promise<Response> {
  const setup = setupOf(c);
  const { sessionId, user } = setup;
  const ask = askerOf(c, sessionId);
  if (ask) return ask({ type: 'delete' });
  const memory = await openMemory(settings, { ...setup, withoutEcho: 'latest' });
  await forgetSession(settings, setup, memory);
  const kv = kvOf(c.env);
  if (kv && !settings.memory) await kvSessionsOf(settings).titles(kv, user).delete(sessionId);
  return noContent();
}

/**
 * Handles `PATCH /api/chat/:id` with `{ title }`: gives the conversation another title in the list.
 * Answers 204, or 404 if there is no such conversation. The time of the last change stays.
 */
export async function renameRoute(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
): Promise<Response> {
  const { sessionId } = setupOf(c);
  const title = checkTitle((await readJson(c.req.raw, settings.limits.bodyBytes))['title']);
  const ask = askerOf(c, sessionId);
  if (ask) return ask({ type: 'rename', title });
  const { titles, sessions } = await sessionsInKv(c, settings);
  if (!sessions.some((session) => session.sessionId === sessionId)) throw unknownSession();
  await titles.set(sessionId, title);
  return noContent();
}

/**
 * Returns the user's conversations in KV, the most recently changed first, with the titles in their
 * logs. Throws `NEEDS_DURABLE_OBJECT` if the endpoint stores conversations elsewhere.
 */
async function sessionsInKv(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
): Promise<{ readonly titles: KvTitles; readonly sessions: readonly ListedSession[] }> {
  const kv = kvOf(c.env);
  if (settings.memory || !kv)
    throw new AgentError(
      'NEEDS_DURABLE_OBJECT',
      'Only sessions in CHAT_SESSION or CHAT_KV can be listed and renamed.',
    );
  const { user } = c.get('caller');
  const { store, titles } = kvSessionsOf(settings);
  return { titles: titles(kv, user), sessions: await listedSessions(store(kv), user) };
}

function count(c: Context<EdgeEnv>, name: string): number | undefined {
  const value = c.req.query(name);
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value)) throw invalidField(name, 'must be a whole number');
  return Number(value);
}

function checkTitle(title: unknown): string {
  const text = typeof title === 'string' ? title.trim() : '';
  if (text && text.length <= maxTitle) return text;
  throw invalidField('title', `must be a text of 1 to ${maxTitle} characters`);
}
