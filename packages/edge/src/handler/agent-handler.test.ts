/// <reference path="../../../../test/provider-server/provided-context.d.ts" />
import { ReActAgent } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { ScriptedModel } from '@isoloop/core/testing';
import { Hono } from 'hono';
import { expect, inject, test, vi } from 'vitest';
import { createAgentHandler, type AgentHandler } from './agent-handler.ts';
import { bindings, type TestEnv } from '../../test-support/endpoint.ts';
import { chat, endpoint, newChat } from '../../test-support/tool-endpoint.ts';
import { errorOf } from '../../test-support/refusals.ts';
import { ask, textOf } from '../../test-support/session-client.ts';

test('a model behind HTTP calls tools in parallel and answers; a failed connection gives MODEL_UNREACHABLE', async () => {
  const target = endpoint(
    openai({ model: 'scripted', baseURL: `${inject('providerUrl')}/scripted/v1` }),
  );
  const answer = await chat(target, newChat(), [ask('Time and sum?')]);
  expect(
    answer.parts.filter((part) => part.type === 'dynamic-tool').map(({ state }) => state),
  ).toEqual(['output-available', 'output-available']);
  expect(textOf(answer)).toBe('The tools say: 12:00 in sample; 2');

  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const refused = (): Promise<never> => Promise.reject(new TypeError('Connection refused'));
  const down = endpoint(openai({ model: 'm', baseURL: 'http://10.0.0.1/v1', fetch: refused }));
  await expect(chat(down, newChat(), [ask('Hi')])).rejects.toThrow(
    "The model's server could not be reached. [MODEL_UNREACHABLE]",
  );
  await expect(
    down.client().chat.completions.create({
      model: 'offline',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    }),
  ).rejects.toMatchObject({
    status: 502,
    code: 'MODEL_UNREACHABLE',
    message: expect.not.stringContaining('10.0.0.1'),
  });
  expect(String(log.mock.calls[0]?.[0])).toContain('10.0.0.1');
  log.mockRestore();
});

test.each([
  [
    'route',
    (handler: AgentHandler<TestEnv>) => new Hono<{ Bindings: TestEnv }>().route('/agent', handler),
  ],
  [
    'basePath',
    (handler: AgentHandler<TestEnv>) =>
      new Hono<{ Bindings: TestEnv }>().basePath('/agent').route('/', handler),
  ],
])(
  'a handler that is mounted in another Hono app by %s serves its own routes and no others',
  async (_by, mount) => {
    const { handler } = endpoint(['Hi.']);
    const app = new Hono<{ Bindings: TestEnv }>().use(async (c, next) => {
      await next();
      c.header('x-mine', 'yes');
    });
    app.route('/', mount(handler)).get('/agent/api/other', (c) => c.text('mine'));
    const request = (path: string, init: RequestInit = {}) =>
      app.request(
        path,
        { headers: { authorization: 'Bearer ann', 'content-type': 'application/json' }, ...init },
        bindings,
      );
    const other = await request('/agent/api/other');
    expect([await other.text(), other.headers.has('x-request-id')]).toEqual(['mine', false]);
    expect((await request('/agent/healthz')).headers.get('x-mine')).toBe('yes');
    const id = crypto.randomUUID();
    const messages = [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hello?' }] }];
    const turn = await request('/agent/api/chat', {
      method: 'POST',
      body: JSON.stringify({ id, messages }),
    });
    expect(await turn.text()).toContain('"delta":"Hi."');
    expect(
      JSON.stringify(await (await request(`/agent/api/chat/${id}/messages`)).json()),
    ).toContain('"Hi."');
    expect(await (await request('/agent/api/chats')).json()).toMatchObject({
      chats: expect.arrayContaining([expect.objectContaining({ sessionId: id, title: 'Hello?' })]),
    });
    const refused = await request('/agent/v1/models', { headers: {} });
    expect([refused.status, await refused.json()]).toMatchObject([
      401,
      { error: { type: 'authentication_error', code: 'UNAUTHORIZED' } },
    ]);
    expect([
      (await request('/agent/api/chat')).status,
      (await request('/api/chats')).status,
    ]).toEqual([405, 404]);
  },
);

test('GET /v1/models lists the models, and createAgentHandler() requires at least one model', async () => {
  const { data } = await endpoint([]).client().models.list();
  expect(data.map(({ id }) => id)).toEqual(['offline', 'other']);
  expect(() =>
    createAgentHandler({
      agent: () => new ReActAgent({ name: 'a', model: new ScriptedModel([]) }),
      models: [],
    }),
  ).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});

test('without openAiRoutes(), /v1 answers 404 and names the line to add', async () => {
  const agent = () => new ReActAgent({ name: 'a', model: new ScriptedModel([]) });
  const handler = createAgentHandler({ agent });
  const response = await handler.request('http://localhost/v1/chat/completions', {
    method: 'POST',
  });
  expect([response.status, await response.json()]).toMatchObject([
    404,
    {
      error: {
        code: 'NOT_FOUND',
        message: expect.stringContaining(
          "openai: openAiRoutes()` in createAgentHandler(). Import it: import { openAiRoutes } from '@isoloop/openai-api';",
        ),
      },
    },
  ]);
});

test('a path may end with a slash, and then has the same rules', async () => {
  const target = endpoint([]);
  expect((await target.get('/healthz/')).status).toBe(200);
  expect(await errorOf(await target.get('/api/run/'))).toMatchObject({
    message: '/api/run/ takes POST, not GET.',
  });
});

test('a request to an unknown path gets 404 with a code', async () => {
  const target = endpoint([]);
  for (const path of ['/nowhere', '/api/chats/a', '/llm/v1/models']) {
    const response = await target.get(path);
    const error = await errorOf(response);
    expect([response.status, error.code]).toEqual([404, 'NOT_FOUND']);
    if (!path.startsWith('/llm/'))
      expect(error.requestId).toBe(response.headers.get('x-request-id'));
  }
  expect(await (await target.get('/v1/nowhere')).json()).toMatchObject({
    error: { type: 'invalid_request_error', param: null },
  });
});
