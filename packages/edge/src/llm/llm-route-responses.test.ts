/// <reference path="../../../../test/provider-server/provided-context.d.ts" />
import { ReActAgent, tool } from '@isoloop/core';
import { openaiResponses } from '@isoloop/core/responses';
import OpenAI from 'openai';
import { expect, inject, test, vi } from 'vitest';
import { testEndpoint, type TestEndpoint } from '../../test-support/endpoint.ts';
import type { LlmOptions, LlmUpstream } from './llm-options.ts';
import { llmProxy } from './llm-proxy.ts';

const key = 'sk-very-secret-key-0123456789';
const path = '/llm/v1/responses';
const body = { model: 'small', input: 'Hi' };

function proxy(upstream: LlmUpstream, options: Partial<LlmOptions> = {}): TestEndpoint {
  const llm: LlmOptions = {
    models: ['small', 'scripted'],
    upstream: () => ({ apiKey: key, ...upstream }),
    ...options,
  };
  return testEndpoint([], {}, { llm: llmProxy(llm) });
}

/** Fakes a model server that records its requests. */
function server(answer: () => Response = () => Response.json({ object: 'response', output: [] })) {
  const seen: { url: string; init: RequestInit }[] = [];
  return {
    seen,
    fetch: async (url: string, init: RequestInit): Promise<Response> => {
      seen.push({ url, init });
      return answer();
    },
    sent: (): unknown => JSON.parse(String(seen.at(-1)!.init.body)),
  };
}

test('half an emoji of a client does not reach the server, which may refuse it', async () => {
  const upstream = server();
  const target = proxy({ fetch: upstream.fetch });
  await target.post(path, { ...body, input: 'Hi \ud83d' });
  expect(String(upstream.seen[0]!.init.body)).toContain('"input":"Hi \ufffd"');
});

test('sends the server its key and its own name of the model, and stores nothing', async () => {
  const upstream = server();
  const target = proxy({
    fetch: upstream.fetch,
    baseURL: 'https://models.test/v1/',
    model: 'v/small',
  });
  const asked = { ...body, store: true, temperature: 1, reasoning: { effort: 'low' } };
  expect((await target.post(path, asked)).status).toBe(200);
  const [{ url, init }] = upstream.seen as [(typeof upstream.seen)[0]];
  expect(url).toBe('https://models.test/v1/responses');
  expect(init.headers).toMatchObject({ authorization: `Bearer ${key}` });
  expect(upstream.sent()).toEqual({
    ...asked,
    model: 'v/small',
    store: false,
    max_output_tokens: 4096,
  });
});

test.each([
  [{}, {}, 4096],
  [{ max_output_tokens: 10 }, {}, 10],
  [{ max_output_tokens: 1e9 }, { maxTokens: 100 }, 100],
  [{ max_output_tokens: null }, {}, 4096],
])('limits the output: %j', async (asked, options, expected) => {
  const upstream = server();
  await proxy({ fetch: upstream.fetch }, options).post(path, { ...body, ...asked });
  expect(upstream.sent()).toMatchObject({ max_output_tokens: expected });
});

const user = (part: object) => [{ role: 'user', content: [part] }];

test.each<[param: string, more: object]>([
  ['background', { background: true }],
  ['conversation', { conversation: 'c' }],
  ['include', { include: ['file_search_call.results'] }],
  ['input', { input: 1 }],
  ['input', { input: undefined }],
  ['input[0]', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
  ['input[0]', { input: [{ type: 'additional_tools', tools: [{ type: 'web_search' }] }] }],
  ['input[0]', { input: [{ id: 'msg_1' }] }],
  ['input[0]', { input: [{ type: null, id: 'msg_1' }] }],
  ['input[0]', { input: [{ id: 'msg_1', role: 'user' }] }],
  ['input[0]', { input: ['msg_1'] }],
  ['input[0]', { input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }],
  ['input[0].content[0]', { input: user({ type: 'item_reference', id: 'msg_1' }) }],
  ['input[0].content[0].file_id', { input: user({ type: 'input_file', file_id: 'file_1' }) }],
  ['input[0].content[0].source.file_id', { input: user({ source: { file_id: 'f' } }) }],
  [
    'input[0].output[0].file_id',
    { input: [{ type: 'function_call_output', output: [{ file_id: 'f' }] }] },
  ],
  ['input[0].previous_response_id', { input: [{ ...user({})[0], previous_response_id: 'r' }] }],
  ['input[0].content[0].image_url', { input: user({ image_url: 'file:///etc/passwd' }) }],
  ['input[0].content[0].file_url', { input: user({ file_url: 'gopher://a.test' }) }],
  ['max_output_tokens', { max_output_tokens: 0 }],
  ['max_tool_calls', { max_tool_calls: 1 }],
  ['metadata', { metadata: {} }],
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['prompt', { prompt: { id: 'p' } }],
  ['service_tier', { service_tier: 'priority' }],
  ['stream', { stream: 'yes' }],
  ['tools', { tools: [{ type: 'web_search' }] }],
  ['tools', { tools: [{ type: 'mcp', server_url: 'https://x.test' }] }],
  ['user', { user: 'bob' }],
])('rejects what could cost more or read stored data: %s', async (param, more) => {
  const upstream = server();
  const response = await proxy({ fetch: upstream.fetch }).post(path, { ...body, ...more });
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { error: { code: 'INVALID_INPUT', param } },
  ]);
  expect(upstream.seen).toEqual([]);
});

test('forwards fields that are allowed', async () => {
  const upstream = server();
  const target = proxy({ fetch: upstream.fetch }, { fields: ['enable_thinking'] });
  const tools = [{ type: 'function', name: 'f', parameters: {} }];
  await target.post(path, { ...body, tools, enable_thinking: true });
  expect(upstream.sent()).toMatchObject({ tools, enable_thinking: true });
});

test("turns a server's error into an error without the server's text", async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const message = `Incorrect API key provided: ${key}. Account acme-inc.`;
  const upstream = server(() => Response.json({ error: { message } }, { status: 401 }));
  const response = await proxy({ fetch: upstream.fetch }).post(path, body);
  const text = await response.text();
  expect([response.status, JSON.parse(text)]).toMatchObject([
    502,
    { error: { code: 'MODEL_AUTH' } },
  ]);
  expect(text).not.toMatch(/sk-very|acme/);
  expect(JSON.stringify(log.mock.calls)).not.toContain(key);
  log.mockRestore();
});

test("a page's agent with openaiResponses() and OpenAI's client work through the proxy, over HTTP", async () => {
  const target = proxy({ baseURL: `${inject('providerUrl')}/scripted/v1` });
  const clock = tool({
    name: 'clock',
    description: 'The time',
    input: { type: 'object' },
    execute: () => 'noon',
  });
  const options = { baseURL: 'https://edge.test/llm/v1', apiKey: 'ann' };
  const model = openaiResponses({
    ...options,
    model: 'scripted',
    reasoning: { effort: 'low', summary: 'auto' },
    fetch: (url, init) => target.fetch(url, init),
  });
  const agent = new ReActAgent({ name: 'page', model, tools: [clock] });
  expect((await agent.call('What time is it?')).text).toContain('The tools say: noon');

  const client = new OpenAI({ ...options, fetch: target.fetch as typeof fetch, maxRetries: 0 });
  const input = 'Hi';
  const whole = await client.responses.create({ model: 'scripted', input });
  const streamed = await client.responses.stream({ model: 'scripted', input }).finalResponse();
  expect(whole.output_text).not.toBe('');
  expect(streamed.output_text).toBe(whole.output_text);
  await expect(client.responses.create({ model: 'gpt-9', input })).rejects.toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
  });
});

test('rejects unknown callers, and gives 404 without a proxy', async () => {
  const upstream = server();
  expect((await proxy({ fetch: upstream.fetch }).post(path, body, '')).status).toBe(401);
  expect((await testEndpoint([]).post(path, body)).status).toBe(404);
  expect(upstream.seen).toEqual([]);
});
