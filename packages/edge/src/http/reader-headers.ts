import { AgentError } from '@isoloop/core';
import { digest } from '@isoloop/core/host';
import type { Context } from 'hono';
import type { EdgeEnv } from '../settings/handler-options.ts';
import { objectsOf } from '../settings/session-home.ts';
import { rejoinHeader, userHeader } from './header-names.ts';

/**
 * Returns the headers that tell a tab whether it may share an answer with other tabs. OpenAI's
 * clients have no tabs. Call this before the answer begins. While a digest is computed, the pieces
 * of a stream would pile up, and the client would get them as one.
 */
export async function readerHeaders(c: Context<EdgeEnv>): Promise<ReadonlyMap<string, string>> {
  const headers = new Map<string, string>();
  if (c.get('errorFormat') === 'openai') return headers;
  headers.set(userHeader, await userDigest(c));
  if (objectsOf(c.get('home'))) headers.set(rejoinHeader, 'true');
  return headers;
}

/**
 * Checks for whom a page has sent a message. A message may wait in the page while another person
 * logs in. `expected`: digest that the page has got from the header. Absent for other clients.
 */
export async function checkReader(c: Context<EdgeEnv>, expected: unknown): Promise<void> {
  if (expected === undefined || expected === (await userDigest(c))) return;
  const message =
    'Another person is logged in than when this message was written. Reload the page.';
  throw new AgentError('UNAUTHORIZED', message);
}

async function userDigest(c: Context<EdgeEnv>): Promise<string> {
  return (await digest(`isoloop-user:${c.get('caller').user}`)).slice(0, 32);
}
