import { jsonSchema } from '@isoloop/core/schema';
import { openAiRoutes } from '../index.ts';
import type { ScriptedReply } from '@isoloop/core/testing';
import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import { testEndpoint, type TestEndpoint } from '../../../edge/test-support/endpoint.ts';
import { rolesOf } from '@test/roles-of.ts';
import {
  type Params,
  type Message,
  weather,
  question,
  ran,
  clock,
  newSession,
} from '../../test-support/weather-client.ts';

const asksWeather: ScriptedReply = {
  text: 'Let me see.',
  toolCalls: [{ id: 'call_1', name: 'weather', input: { city: '서울' } }],
};

test('a client of /v1 runs its own tool and sends the result, without streaming', async () => {
  const target = testEndpoint([asksWeather, 'It rains.'], { tools: [clock] });
  const openai = target.client();
  const first = await openai.chat.completions.create({
    model: 'offline',
    messages: [question],
    tools: [weather],
  });
  const [choice] = first.choices;
  expect(choice).toMatchObject({
    finish_reason: 'tool_calls',
    message: {
      content: 'Let me see.',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather' } }],
    },
  });
  const call = choice!.message.tool_calls![0] as OpenAI.ChatCompletionMessageFunctionToolCall;
  expect(JSON.parse(call.function.arguments)).toEqual({ city: '서울' });
  expect(target.model.requests[0]!.tools.map(({ name }) => name)).toEqual(['weather', 'clock']);

  const messages: Message[] = [
    question,
    choice!.message,
    { role: 'tool', tool_call_id: call.id, content: 'Rain' },
  ];
  const second = await openai.chat.completions.create({
    model: 'offline',
    messages,
    tools: [weather],
  });
  expect(second.choices[0]).toMatchObject({
    finish_reason: 'stop',
    message: { content: 'It rains.' },
  });
  expect(rolesOf(target.model.requests[1]!.messages)).toBe('user assistant tool');
});

test('a client of /v1 gets several calls of its own tools at once in a stream', async () => {
  const calls = ['a', 'b'].map((city) => ({ name: 'weather', input: { city } }));
  const target = testEndpoint([{ toolCalls: calls }]);
  const runner = target.client().chat.completions.stream({
    model: 'offline',
    messages: [question],
    tools: [weather],
    stream_options: { include_usage: true },
  });
  const completion = await runner.finalChatCompletion();
  expect(completion.choices[0]!.finish_reason).toBe('tool_calls');
  expect(
    completion.choices[0]!.message.tool_calls!.map(
      (call) => call.type === 'function' && JSON.parse(call.function.arguments).city,
    ),
  ).toEqual(['a', 'b']);
  expect(new Set(completion.choices[0]!.message.tool_calls!.map(({ id }) => id)).size).toBe(2);
  expect(completion.usage?.total_tokens).toBe(15);
});

test('the tool runner of OpenAI’s client works with /v1', async () => {
  const target = testEndpoint([asksWeather, 'It rains.'], { tools: [clock] });
  const asked: unknown[] = [];
  const runner = runWeather(target, (text) => (asked.push(JSON.parse(text)), 'Rain'));
  expect(await runner.finalContent()).toBe('It rains.');
  expect(asked).toEqual([{ city: '서울' }]);
});

test('the agent’s own tools run before the client gets the call of its tool', async () => {
  ran.length = 0;
  const both: ScriptedReply = {
    toolCalls: [
      { name: 'clock', input: {} },
      { name: 'weather', input: { city: 'x' } },
    ],
  };
  const target = testEndpoint([both], { tools: [clock] });
  const { choices } = await target
    .client()
    .chat.completions.create({ model: 'offline', messages: [question], tools: [weather] });
  expect(choices[0]!.message.content).toBeNull();
  expect(
    choices[0]!.message.tool_calls!.map((call) => call.type === 'function' && call.function.name),
  ).toEqual(['weather']);
  expect(ran).toEqual(['clock']);
});

test('the tool choice applies to the model’s first reply, and `none` hides the client’s tools', async () => {
  const named: Partial<Params> = {
    tool_choice: { type: 'function', function: { name: 'weather' } },
  };
  const target = testEndpoint([{ toolCalls: [{ name: 'clock', input: {} }] }, 'a', 'b'], {
    tools: [clock],
  });
  const ask = (more: Partial<Params>) =>
    target.client().chat.completions.create({
      model: 'offline',
      messages: [question],
      tools: [weather],
      ...more,
    } as Params);
  await ask(named);
  await ask({ tool_choice: 'none' });
  expect(target.model.requests.map(({ toolChoice, tools }) => [toolChoice, tools.length])).toEqual([
    [{ name: 'weather' }, 2],
    [undefined, 2],
    [undefined, 1],
  ]);
});

test("a client's tools and a JSON answer work together", async () => {
  const target = testEndpoint(
    [asksWeather, '{"rain":true}'],
    {},
    { openai: openAiRoutes({ jsonSchema }) },
  );
  const openai = target.client();
  const format: Params['response_format'] = {
    type: 'json_schema',
    json_schema: {
      name: 'rain',
      schema: { type: 'object', properties: { rain: { type: 'boolean' } }, required: ['rain'] },
    },
  };
  const params = { model: 'offline', tools: [weather], response_format: format };
  const { message } = (await openai.chat.completions.create({ ...params, messages: [question] }))
    .choices[0]!;
  expect(message.tool_calls).toHaveLength(1);
  const messages: Message[] = [
    question,
    message,
    { role: 'tool', tool_call_id: 'call_1', content: 'Rain' },
  ];
  const { choices } = await openai.chat.completions.create({ ...params, messages });
  expect([choices[0]!.finish_reason, JSON.parse(choices[0]!.message.content!)]).toEqual([
    'stop',
    { rain: true },
  ]);
});

test('in a session, a call of a client’s tool waits for its result, and the session accepts one result', async () => {
  const target = testEndpoint([asksWeather, 'It rains.']);
  const openai = target.client('ann', newSession());
  const params = { model: 'offline', tools: [weather] };
  await openai.chat.completions.create({ ...params, messages: [question] });
  await expect(
    openai.chat.completions.create({ ...params, messages: [{ role: 'user', content: 'Well?' }] }),
  ).rejects.toMatchObject({
    status: 409,
    code: 'PENDING_TOOL_CALLS',
  });
  const result: Message = { role: 'tool', tool_call_id: 'call_1', content: 'Rain' };
  const { choices } = await openai.chat.completions.create({ ...params, messages: [result] });
  expect(choices[0]!.message.content).toBe('It rains.');
  expect(rolesOf(target.model.requests[1]!.messages)).toBe('user assistant tool');
  for (const forged of [result, { ...result, tool_call_id: 'call_2' }]) {
    await expect(
      openai.chat.completions.create({ ...params, messages: [forged] }),
    ).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_DECISION',
    });
  }
});

const toolInput = (delta: string, first = false) =>
  ({
    type: 'tool-input',
    index: 0,
    delta,
    ...(first && { id: 'call_1', name: 'weather' }),
  }) as const;
const toolCalls = { type: 'finish', reason: 'tool_calls' } as const;

test('a client of /v1 gets the arguments of its tool while the model still writes them', async () => {
  let write!: () => void;
  const rest = new Promise<void>((resolve) => (write = resolve));
  const target = testEndpoint([
    [
      { deltas: [[toolInput('', true)], [toolInput('{"city":')], [toolInput('"서')]] },
      { wait: rest, deltas: [[toolInput('울"}')], [toolCalls]] },
    ],
    'It rains.',
  ]);
  const params = { model: 'offline', messages: [question], tools: [weather] };
  const runner = target.client().chat.completions.stream(params);
  const deltas: string[] = [];
  runner.on('tool_calls.function.arguments.delta', ({ name, arguments_delta: delta }) => {
    expect(name).toBe('weather');
    deltas.push(delta);
    if (deltas.join('').endsWith('서')) write();
  });
  const completion = await runner.finalChatCompletion();
  expect(deltas.filter(Boolean)).toEqual(['{"city":', '"서', '울"}']);
  expect(completion.choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: {
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'weather', arguments: '{"city":"서울"}' },
        },
      ],
    },
  });
});

test('a client’s tool gets an empty object if the model leaves out the arguments', async () => {
  const target = testEndpoint([{ deltas: [[toolInput('', true)], [toolCalls]] }, 'Sunny.']);
  const asked: string[] = [];
  const runner = runWeather(target, (text) => (asked.push(text), 'Sun'));
  expect(await runner.finalContent()).toBe('Sunny.');
  expect(asked).toEqual(['{}']);
});

test('a client of /v1 does not run a call that a hook rejected after it was streamed', async () => {
  const refuses = {
    name: 'h',
    on: {
      'pre-acting': (event: { reject(reason: string): void }) => event.reject('No.'),
    },
  };
  const target = testEndpoint([asksWeather, 'Then not.'], { use: [refuses] });
  const asked: unknown[] = [];
  const runner = runWeather(target, (text) => (asked.push(text), 'Rain'));
  await expect(runner.finalContent()).rejects.toMatchObject({
    code: 'MODEL_BAD_RESPONSE',
    type: 'api_error',
  });
  expect(asked).toEqual([]);
});

test('a client’s tool may have the name of an inherited property, such as toString', async () => {
  for (const name of ['constructor', '__proto__', 'toString']) {
    const target = testEndpoint([{ toolCalls: [{ id: 'call_1', name, input: {} }] }]);
    const tools = [
      {
        type: 'function',
        function: {
          name,
          parameters: JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
        },
      },
    ];
    const { choices } = await target
      .client()
      .chat.completions.create({ model: 'offline', messages: [question], tools } as Params);
    expect(choices[0]!.message.tool_calls).toMatchObject([{ function: { name } }]);
  }
});

/**
 * Runs OpenAI's client with a tool that the client executes. The function `run` gets the arguments
 * as the text that the model wrote.
 */
function runWeather(
  target: TestEndpoint,
  run: (text: string) => string,
): ReturnType<OpenAI['chat']['completions']['runTools']> {
  return target.client().chat.completions.runTools({
    model: 'offline',
    messages: [question],
    stream: true,
    tools: [
      {
        type: 'function',
        function: {
          name: 'weather',
          description: 'Of a city',
          parameters: { type: 'object', properties: {} },
          function: run,
        },
      },
    ],
  });
}
