import { digest } from '@isoloop/core/adapter';
import type { Context } from 'hono';
import type { EdgeEnv } from '../handler-options.ts';
import { rejoinHeader, userHeader } from './header-names.ts';

/**
 * Sets the headers that tell a tab whether it may share an answer with other tabs. OpenAI's clients
 * have no tabs.
 */
export async function addReaderHeaders(c: Context<EdgeEnv>, { headers }: Response): Promise<void> {
  if (c.get('errorFormat') === 'openai') return;
  headers.set(userHeader, (await digest(`isoloop-user:${c.get('caller').user}`)).slice(0, 32));
  if (Object(c.env).CHAT_SESSION) headers.set(rejoinHeader, 'true');
}
