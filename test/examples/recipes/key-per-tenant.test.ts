import { expect, test } from 'vitest';
import { AgentError, MemoryStore, ReActAgent } from '@isoloop/core';
// #region key-per-tenant
import { openai } from '@isoloop/core/openai';
import { createAgentHandler } from '@isoloop/edge';
import { storeSessions } from '@isoloop/edge/store';
// #endregion

test('each tenant asks the model with its own key, and a tenant without one gets an error', async () => {
  const store = new MemoryStore();
  const used: (string | null)[] = [];
  const tenants = new Map([['acme', { key: 'sk-acme' }]]);
  const tenantOf = (request: Request) => request.headers.get('x-tenant');
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    used.push(new Headers(init?.headers).get('authorization'));
    const chunk = { choices: [{ delta: { content: 'Hi.' }, finish_reason: 'stop' }] };
    return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  };

  // #region key-per-tenant
  const handler = createAgentHandler({
    store: storeSessions(store),
    authorize: (request) => {
      const tenant = tenantOf(request); // from a checked login, never from a field of the body
      return tenant ? { user: tenant } : null;
    },
    agent: ({ user, memory }) => {
      const apiKey = tenants.get(user)?.key;
      if (!apiKey) throw new AgentError('MODEL_AUTH', 'This tenant has no key.');
      const model = openai({ model: 'gpt-5-mini', apiKey, fetch });
      return new ReActAgent({ name: 'assistant', model, memory });
    },
  });
  // #endregion

  const ask = (tenant: string) =>
    handler.request('/api/run', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-tenant': tenant },
      body: JSON.stringify({ sessionId: 'notes', input: 'Hello!' }),
    });
  expect(await (await ask('acme')).text()).toContain('Hi.');
  expect(used).toEqual(['Bearer sk-acme']);
  expect(await (await ask('other')).text()).toContain('MODEL_AUTH');
  expect(used).toHaveLength(1);
});
