import { AgentError } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { expect, test, vi } from 'vitest';
import { testEndpoint } from '../../test-support/endpoint.ts';
import { endpoint, newChat } from '../../test-support/tool-endpoint.ts';
import { ask } from '../../test-support/session-client.ts';

test.each<[string, unknown, string]>([
  [
    'an exception with causes',
    new Error('sk-secret', { cause: new Error('sk-secret', { cause: 'sk-secret' }) }),
    'INTERNAL',
  ],
  ['a string', 'sk-secret', 'INTERNAL'],
  [
    'an unknown code',
    Object.assign(new Error('sk-secret'), {
      name: 'AgentError',
      code: 'SK_SECRET',
      stack: 'sk-secret',
    }),
    'INTERNAL',
  ],
  [
    'a code of every object',
    Object.assign(new Error('sk-secret'), { name: 'AgentError', code: 'constructor' }),
    'INTERNAL',
  ],
  ...(
    [
      'CONFIGURATION',
      'TOOL_ERROR',
      'MODEL_REQUEST',
      'MODEL_TIMEOUT',
      'WORKER_FAILED',
      'STORAGE_FAILED',
      'OUTPUT_INVALID',
    ] as const
  ).map((code): [string, unknown, string] => [
    code,
    new AgentError(code, 'sk-secret', {
      cause: new Error('sk-secret'),
      details: { text: 'sk-secret' },
    }),
    code,
  ]),
])('the endpoint tells a client only the code of a failure: %s', async (_, error, code) => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const failure = { text: 'Well, ', error };
  const target = endpoint([failure, { error }, failure], { events: true });
  const chatted = await (
    await target.post('/api/chat', { id: newChat(), messages: [ask('Hi')], events: true })
  ).text();
  const body = { model: 'offline', messages: [{ role: 'user', content: 'Hi' }] };
  const whole = await (await target.post('/v1/chat/completions', body)).text();
  const streamed = await (
    await target.post('/v1/chat/completions', { ...body, stream: true })
  ).text();
  await target.settled();
  for (const text of [chatted, whole, streamed]) {
    expect(text).toContain(code);
    expect(text).not.toMatch(/sk.secret|node_modules|\.ts:|constructor/i);
  }
  log.mockRestore();
});

test('a model key with invalid characters fails with CONFIGURATION, and the key stays secret', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const target = endpoint(openai({ model: 'm', apiKey: 'sk-secret\nkey' }));
  const streamed = await target.post('/api/chat', { id: newChat(), messages: [ask('Hi')] });
  const completion = await target.post('/v1/chat/completions', {
    model: 'offline',
    messages: [{ role: 'user', content: 'Hi' }],
  });
  const told = (await streamed.text()) + (await completion.clone().text());
  expect(told).toContain('This endpoint is set up wrongly.');
  expect(told).not.toContain('sk-secret');
  expect([completion.status, await completion.json()]).toMatchObject([
    500,
    { error: { code: 'CONFIGURATION', type: 'api_error' } },
  ]);
  expect(JSON.stringify(log.mock.calls)).not.toContain('sk-secret');
  await target.settled();
  log.mockRestore();
});

test('an agent error with secrets in all its parts reveals none of them', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const error = new AgentError('TOOL_ERROR', 'sk-secret', {
    cause: new Error('sk-secret'),
    details: { param: 'sk-secret', url: 'sk-secret' },
  });
  const target = testEndpoint([{ error }, { error }, { error }, { error }, { error }]);
  const v1 = { model: 'offline', messages: [{ role: 'user', content: 'Hi' }] };
  const response = { model: 'offline', input: 'Hi' };
  const answers = [
    await target.post('/api/run', { sessionId: crypto.randomUUID(), input: 'Hi' }),
    await target.post('/v1/chat/completions', v1),
    await target.post('/v1/chat/completions', { ...v1, stream: true }),
    await target.post('/v1/responses', response),
    await target.post('/v1/responses', { ...response, stream: true }),
  ];
  for (const answer of answers)
    expect((await answer.text()) + JSON.stringify([...answer.headers])).not.toContain('sk-secret');
  await target.settled();
  log.mockRestore();
});
