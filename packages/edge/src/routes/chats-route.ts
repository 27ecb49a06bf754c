import { AgentError } from '@isoloop/core';
import { fieldError } from '@isoloop/core/host';
import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import { endRequestRuns } from '../session/request-runs.ts';
import type { SessionHome } from '../settings/session-home.ts';
import type { StoredSessionList } from '../settings/session-list.ts';
import { readJson } from '../http/request-body.ts';
import { forgetSession, noContent } from '../session/command-handler.ts';
import { askSession } from '../session/commands.ts';
import { missingHomeError, openMemory } from '../session/homes.ts';
import { setupOf } from '../session/setup.ts';

/** Maximum number of conversations on a page. */
const maxLimit = 1000;

/** Maximum length of a title, in characters. */
const maxTitleLength = 200;

/**
 * Handles `GET /api/chats`: returns the user's conversations as `{ chats: [{ sessionId, title?,
 * createdAt, updatedAt }] }`, the most recently changed first. `?limit=` is the number of
 * conversations on a page, 100 by default and 1000 at most. A page has more if several
 * conversations have the same time as the last one. For the next page, pass the last `updatedAt` as
 * `?before=`.
 */
export async function chatsRoute(c: Context<EdgeEnv>): Promise<Response> {
  const limit = readNumber(c, 'limit') ?? 100;
  if (limit < 1 || limit > maxLimit)
    throw fieldError('limit', `must be a number from 1 to ${maxLimit}`);
  const page = { limit, before: readNumber(c, 'before') };
  const answer = askSession(c, '', { type: 'list', ...page });
  if (answer) return answer;
  const list = listIn(c.get('home'), c.get('caller').user);
  return Response.json({ chats: await list.page(page) });
}

/**
 * Handles `DELETE /api/chat/:id`: deletes the conversation, and calls `deleteSession` for data
 * outside the memory. Answers 204, even if there is no such conversation.
 */
export async function deleteRoute(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
): Promise<Response> {
  const setup = setupOf(c);
  const { sessionId, user } = setup;
  const answer = askSession(c, sessionId, { type: 'delete' });
  if (answer) return answer;
  const home = c.get('home');
  await endRequestRuns(settings, setup);
  const memory = await openMemory(home, { ...setup, withoutEcho: 'latest' });
  await forgetSession(settings, setup, memory);
  if (home.kind === 'kv') await home.list(user).forgetTitle(sessionId);
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
  const { sessionId, user } = setupOf(c);
  const title = checkTitle((await readJson(c.req.raw, settings.limits.bodyBytes))['title']);
  const answer = askSession(c, sessionId, { type: 'rename', title });
  if (answer) return answer;
  await listIn(c.get('home'), user).rename(sessionId, title);
  return noContent();
}

/**
 * Returns the list of the user's conversations in KV. Throws `NEEDS_DURABLE_OBJECT` if they are in
 * the host's own memory, and `CONFIGURATION` if they have no home.
 */
function listIn(home: SessionHome, user: string): StoredSessionList {
  if (home.kind === 'kv') return home.list(user);
  if (home.kind === 'none') throw missingHomeError();
  throw new AgentError(
    'NEEDS_DURABLE_OBJECT',
    'Only sessions in CHAT_SESSION or CHAT_KV can be listed and renamed.',
  );
}

function readNumber(c: Context<EdgeEnv>, name: string): number | undefined {
  const value = c.req.query(name);
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value)) throw fieldError(name, 'must be a whole number');
  return Number(value);
}

function checkTitle(title: unknown): string {
  const text = typeof title === 'string' ? title.trim() : '';
  if (text && text.length <= maxTitleLength) return text;
  throw fieldError('title', `must be a text of 1 to ${maxTitleLength} characters`);
}
