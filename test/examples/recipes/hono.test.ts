import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region hono-app
import { MemoryStore, ReActAgent } from '@isoloop/core';
import { bearerToken, createAgentHandler } from '@isoloop/edge';
import { storeSessions } from '@isoloop/edge/store';
import { Hono } from 'hono';
import { logger } from 'hono/logger';
// #endregion

test('an endpoint in a Hono app answers under its path, after the app’s own middleware', async () => {
  const model = new ScriptedModel(['Hello Ann.']);
  const token = 'a-token-of-ann-1234';
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);

  // #region hono-app
  const agent = createAgentHandler({
    store: storeSessions(new MemoryStore()), // in Workers: leave it out and bind CHAT_SESSION
    agent: ({ sessionId, memory }) =>
      new ReActAgent({ name: 'assistant', sessionId, memory, model }),
    authorize: bearerToken(() => ({ ann: token })),
  });

  const app = new Hono()
    .use(logger(print))
    .get('/', (c) => c.text('Hello.'))
    .route('/agent', agent);
  // #endregion

  expect(await (await app.request('/')).text()).toBe('Hello.');
  const post = {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId: 'notes', input: 'Hi' }),
  };
  expect(await (await app.request('/agent/api/run', post)).text()).toContain('Hello Ann.');
  const refused = await app.request('/agent/api/run', { ...post, headers: {} });
  expect(refused.status).toBe(401);
  expect(lines.join('\n')).toContain('POST /agent/api/run');
});
