import OpenAI from 'openai';
import { expect, inject, test } from 'vitest';
import { cjkText, faults } from './faults.ts';
import { recordedNames } from './replay.ts';

const greeting = [{ role: 'user', content: 'Hi' }];

const post = (
  path: string,
  body: unknown = { stream: true, messages: greeting },
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${inject('providerUrl')}${path}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers,
  });

const client = (path: string): OpenAI =>
  new OpenAI({ apiKey: 'k', baseURL: inject('providerUrl') + path, maxRetries: 0 });

const tool = (name: string, properties: Record<string, unknown>) =>
  ({ type: 'function', function: { name, parameters: { type: 'object', properties } } }) as const;

test('OpenAI’s client works with the scripted model, with and without streaming', async () => {
  const tools = [
    tool('weather', { city: { type: 'string' } }),
    tool('clock', { zone: { enum: ['UTC'] } }),
  ];
  for (const streamed of [false, true]) {
    const { chat } = client('/scripted/v1');
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: 'Weather and time?' },
    ];
    const ask = async (): Promise<OpenAI.ChatCompletion> =>
      streamed
        ? chat.completions
            .stream({ model: 'scripted', messages, tools: [...tools] })
            .finalChatCompletion()
        : chat.completions.create({ model: 'scripted', messages, tools: [...tools] });

    const first = (await ask()).choices[0]!;
    const calls = first.message.tool_calls!.map(
      (call) => call.type === 'function' && [call.id, call.function.name, call.function.arguments],
    );
    expect(first.finish_reason).toBe('tool_calls');
    expect(calls).toEqual([
      ['call_1', 'weather', '{"city":"sample"}'],
      ['call_2', 'clock', '{"zone":"UTC"}'],
    ]);

    // The client adds fields of its own to a message.
    const { role, content, tool_calls = [] } = first.message;
    messages.push(
      { role, content, tool_calls },
      { role: 'tool', tool_call_id: 'call_1', content: 'sun' },
      { role: 'tool', tool_call_id: 'call_2', content: 'noon' },
    );
    const second = (await ask()).choices[0]!;
    expect(second.message.content).toBe('The tools say: sun; noon');
  }
});

test('a script in the body sets the steps of the model, and a new user message restarts the script', async () => {
  const script = [[{ name: 'a', arguments: {} }], [{ name: 'b', arguments: {} }], 'done {results}'];
  const ask = async (...messages: unknown[]) =>
    (await (await post('/scripted/v1', { script, messages })).json()).choices[0].message as {
      content: string;
      tool_calls?: { id: string }[];
    };
  const user = { role: 'user', content: 'Go.' };
  const round = (id: string, content: string): readonly unknown[] => [
    {
      role: 'assistant',
      tool_calls: [{ id, type: 'function', function: { name: 'a', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: id, content },
  ];
  expect((await ask(user)).tool_calls).toMatchObject([{ id: 'call_1', function: { name: 'a' } }]);
  expect((await ask(user, ...round('call_1', '1'))).tool_calls).toMatchObject([
    { id: 'call_2', function: { name: 'b' } },
  ]);
  const both = [...round('call_1', '1'), ...round('call_2', '2')];
  expect((await ask(user, ...both)).content).toBe('done 1; 2');
  expect((await ask(user, ...round('call_1', '1'), user)).tool_calls).toMatchObject([
    { function: { name: 'a' } },
  ]);
});

test('the provider server refuses a request that breaks a published rule', async () => {
  const response = await post('/scripted/v1', { messages: [{ role: 'tool', content: 'sun' }] });
  const { error } = await response.json();
  expect([response.status, error.message]).toEqual([
    400,
    'A request breaks the rule chat-completions/called-results: A tool message follows the ' +
      'message whose tool call it answers. It is broken at messages[0]. ' +
      'Published: https://github.com/miurla/morphic/issues/136',
  ]);
});

test('the provider server replays every recorded stream', async () => {
  const names = await recordedNames();
  expect(names.length).toBeGreaterThanOrEqual(9);
  for (const name of names) {
    const text = await (await post(`/replay/${name}/v1`)).text();
    expect(text).toMatch(/^data: \{"/);
    expect(text.trimEnd().endsWith('data: [DONE]'), name).toBe(true);
  }
  expect((await post('/replay/..%2Fsecret/v1')).status).toBe(404);
});

test('the provider server serves each fault by its name', async () => {
  expect(Object.keys(faults).length).toBeGreaterThan(20);
  const limited = await post('/fault/429/v1');
  expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '2']);
  await expect(post('/fault/cut/v1').then((response) => response.text())).rejects.toThrow();
  expect(await (await post('/fault/split-utf8/v1')).text()).toContain(cjkText);
  expect((await (await post('/fault/huge/v1')).text()).length).toBeGreaterThan(4_000_000);
  expect(await (await post('/fault/crlf/v1')).text()).toMatch(/\r\n\r\ndata: \[DONE]\r\n\r\n$/);
  expect((await post('/fault/none/v1')).status).toBe(404);
});

test('the route /echo returns the request', async () => {
  const { choices } = await (
    await post('/echo/v1', { model: 'm', messages: greeting }, { authorization: 'Bearer k' })
  ).json();
  expect(JSON.parse(choices[0].message.content)).toMatchObject({
    path: '/echo/v1/chat/completions',
    headers: { authorization: 'Bearer k' },
    body: { model: 'm', messages: greeting },
  });
});

test('the provider server detects a client that disconnects', async () => {
  const url = inject('providerUrl');
  const controller = new AbortController();
  const response = await fetch(`${url}/fault/hang-mid/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ messages: greeting }),
    headers: { 'x-test-key': 'departure' },
    signal: controller.signal,
  });
  controller.abort();
  await expect(response.text()).rejects.toThrow();
  expect(await (await fetch(`${url}/departed/departure`)).json()).toEqual({ departed: true });
});

test('the provider server lets pages of any origin send requests with a key', async () => {
  const response = await fetch(`${inject('providerUrl')}/echo/v1/chat/completions`, {
    method: 'OPTIONS',
    headers: { 'access-control-request-headers': 'authorization,content-type' },
  });
  expect(response.headers.get('access-control-allow-headers')).toBe('authorization,content-type');
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
});

test('OpenAI’s client works with the scripted Responses API, with and without streaming', async () => {
  const baseURL = `${inject('providerUrl')}/scripted/v1`;
  const { responses } = new OpenAI({ baseURL, apiKey: 'k', dangerouslyAllowBrowser: true });
  const request = { model: 'm', input: 'Hi', script: ['Hello you.'] };
  expect((await responses.create(request)).output_text).toBe('Hello you.');
  expect((await responses.stream(request).finalResponse()).output_text).toBe('Hello you.');
  const script = [[{ name: 'a', arguments: { b: 1 } }]];
  const { output } = await responses.stream({ ...request, script } as never).finalResponse();
  expect(output).toMatchObject([{ type: 'function_call', name: 'a', arguments: '{"b":1}' }]);
});
