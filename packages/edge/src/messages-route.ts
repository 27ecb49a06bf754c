import { toUiMessages } from '@isoloop/core/ai-sdk';
import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings } from './handler-options.ts';
import { checkSession, openMemory } from './session.ts';

/** `GET /api/chat/:id/messages`: the conversation as `useChat` shows it, `{ messages }`; an unknown one is empty. */
export async function messagesRoute(c: Context<EdgeEnv>, settings: HandlerSettings): Promise<Response> {
  const session = checkSession(c.req.param('id'));
  const memory = await openMemory(settings, { env: c.env, session, user: c.get('user') });
  const messages = toUiMessages(await memory.read());
  return Response.json({ messages }, { headers: { 'cache-control': 'no-store' } });
}
