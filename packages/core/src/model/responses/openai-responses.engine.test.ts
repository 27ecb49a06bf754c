import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import type { AgentError } from '../../error/agent-error.ts';
import { assistantMessage, systemMessage, userMessage, type Msg } from '../../message/msg.ts';
import type { ModelDelta, ModelRequest } from '../chat-model.ts';
import { tool } from '../../tool/tool.ts';
import { openai } from '../openai/openai.ts';
import { openaiResponses, type OpenAiResponsesOptions } from './openai-responses.ts';

type Body = Readonly<Record<string, unknown>>;

const stream = (...events: readonly object[]): Response =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  });

const completed = (id: string, ...output: readonly object[]): Response =>
  stream({ type: 'response.completed', response: { id, status: 'completed', output } });

const message = (text: string): object => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});

const call = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'c1',
  name: 'add',
  arguments: '{"a":1}',
};

/** Creates a model whose server returns these responses in turn. Collects the requests. */
function served(
  respond: readonly (() => Response)[],
  options: Partial<OpenAiResponsesOptions> = {},
) {
  const bodies: Body[] = [];
  const urls: string[] = [];
  const headers: HeadersInit[] = [];
  const model = openaiResponses({
    model: 'gpt-5.4',
    apiKey: 'sk-12345678',
    ...options,
    fetch: async (url, init) => {
      urls.push(url);
      headers.push(init.headers!);
      bodies.push(JSON.parse(init.body as string) as Body);
      return respond[bodies.length - 1]!();
    },
  });
  return { model, bodies, urls, headers };
}

async function run(
  { model }: ReturnType<typeof served>,
  request: Partial<ModelRequest> = {},
): Promise<readonly ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  const { signal } = new AbortController();
  const sent = { messages: [userMessage('Hi')], tools: [], ...request };
  for await (const batch of model.stream(sent, { signal })) deltas.push(...batch);
  return deltas;
}

const addTool = tool({
  name: 'add',
  description: 'Adds',
  input: { type: 'object', properties: { a: { type: 'number' } } },
  execute: () => 'It is 2.',
});

test('a request of openaiResponses() stores nothing and asks for encrypted reasoning', async () => {
  const server = served([() => completed('resp_1', message('Hi'))], {
    reasoning: { effort: 'low', summary: 'auto' },
    builtInTools: [{ type: 'web_search' }],
  });
  await run(server, {
    messages: [systemMessage('Be short.'), userMessage('Hi')],
    tools: [{ name: 'f', description: 'd', parameters: { type: 'object' } }],
    toolChoice: { name: 'f' },
    maxTokens: 100,
    temperature: 0.5,
    topP: 0.9,
    responseSchema: { type: 'object', properties: {}, additionalProperties: false },
    providerOptions: { text: { verbosity: 'low' }, service_tier: 'flex' },
  });
  expect(server.urls).toEqual(['https://api.openai.com/v1/responses']);
  expect(server.headers[0]).toMatchObject({ authorization: 'Bearer sk-12345678' });
  expect(server.bodies[0]).toEqual({
    model: 'gpt-5.4',
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    instructions: 'Be short.',
    max_output_tokens: 100,
    reasoning: { effort: 'low', summary: 'auto' },
    tool_choice: { type: 'function', name: 'f' },
    text: {
      verbosity: 'low',
      format: {
        type: 'json_schema',
        name: 'response',
        schema: { type: 'object', properties: {}, additionalProperties: false },
        strict: true,
      },
    },
    service_tier: 'flex',
    input: [{ role: 'user', content: 'Hi' }],
    tools: [
      {
        type: 'function',
        name: 'f',
        description: 'd',
        parameters: { type: 'object', properties: {} },
        strict: false,
      },
      { type: 'web_search' },
    ],
  } satisfies OpenAI.Responses.ResponseCreateParamsStreaming);
});

test.for([{ seed: 7 }, { stop: ['END'] }])(
  'openaiResponses() refuses the setting %o, because the API does not have it',
  async (setting) => {
    const server = served([]);
    const [name] = Object.keys(setting);
    await expect(run(server, setting)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: `openaiResponses(): the Responses API has no \`${name}\`. Remove it, or use openai().`,
    });
    expect(server.urls).toEqual([]);
  },
);

test('an own `include` is added to the request for encrypted reasoning', async () => {
  const own = ['web_search_call.action.sources', 'reasoning.encrypted_content'];
  const bodyOf = async (options: Partial<OpenAiResponsesOptions>): Promise<Body> => {
    const server = served([() => completed('resp_1', message('Hi'))], options);
    await run(server, { providerOptions: { include: own } });
    return server.bodies[0]!;
  };
  expect(await bodyOf({})).toHaveProperty('include', [own[1], own[0]]);
  expect(await bodyOf({ encryptedReasoning: false })).toHaveProperty('include', own);
  expect(await bodyOf({ previousResponse: true })).toHaveProperty('include', own);
});

test.for([
  ['gpt-4.1-mini', false],
  ['gpt-4o', false],
  ['gpt-5-chat-latest', false],
  ['chatgpt-4o-latest', false],
  ['gpt-5.4', true],
  ['o4-mini', true],
  ['grok-4', true],
  ['gpt-oss:20b', true],
] as const)(
  'a request for the model %s asks for encrypted reasoning: %s',
  async ([name, expected]) => {
    const server = served([() => completed('resp_1', message('Hi'))], { model: name });
    await run(server);
    expect('include' in server.bodies[0]!).toBe(expected);
  },
);

test('an agent calls tools, and the next request contains the reasoning and the tool calls', async () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'secret' };
  const server = served([
    () => completed('resp_1', reasoning, call),
    () => completed('resp_2', message('2')),
  ]);
  const agent = new ReActAgent({ name: 'a', model: server.model, tools: [addTool] });
  const result = await agent.call('1 + 1?');
  expect(result).toMatchObject({ text: '2', reason: 'stop', toolsUsed: ['add'] });
  expect(server.bodies[1]!['input']).toEqual([
    { role: 'user', content: '1 + 1?' },
    reasoning,
    { type: 'function_call', call_id: 'c1', name: 'add', arguments: '{"a":1}' },
    { type: 'function_call_output', call_id: 'c1', output: 'It is 2.' },
  ]);
});

test('with `previousResponse`, a request continues from the stored response and contains only new items', async () => {
  const server = served(
    [
      () => completed('resp_1', call),
      () => completed('resp_2', message('2')),
      () => completed('resp_3', message('4')),
    ],
    { previousResponse: true },
  );
  const agent = new ReActAgent({
    name: 'a',
    systemPrompt: 'Calculate.',
    model: server.model,
    tools: [addTool],
  });
  await agent.call('1 + 1?');
  await agent.call('2 + 2?');
  const [first, second, third] = server.bodies;
  expect(first).toMatchObject({ store: true, instructions: 'Calculate.' });
  expect(first).not.toHaveProperty('include');
  expect(first).not.toHaveProperty('previous_response_id');
  expect(second).toMatchObject({
    previous_response_id: 'resp_1',
    instructions: 'Calculate.',
    input: [{ type: 'function_call_output', call_id: 'c1', output: 'It is 2.' }],
  });
  expect(third).toMatchObject({
    previous_response_id: 'resp_2',
    input: [{ role: 'user', content: '2 + 2?' }],
  });
});

/** Returns the conversation after one turn with the stored response `resp_1`. */
async function turn(server: ReturnType<typeof served>): Promise<readonly Msg[]> {
  const agent = new ReActAgent({ name: 'a', model: server.model });
  await agent.call('One');
  return agent.messages();
}

test.for<[name: string, change: (messages: readonly Msg[]) => readonly Msg[]]>([
  ['an edited question', ([, reply]) => [userMessage('Uno'), reply!]],
  [
    'an edited reply',
    ([question, reply]) => [question!, { ...reply!, content: [{ type: 'text', text: 'Zwei' }] }],
  ],
  ['a message in between', ([question, reply]) => [question!, userMessage('And'), reply!]],
  ['a missing question', ([, reply]) => [reply!]],
  ['a reply without its id', ([question]) => [question!, assistantMessage('Two')]],
])('after %s, a request contains the whole conversation', async ([, change]) => {
  const server = served(
    [() => completed('resp_1', message('Two')), () => completed('resp_2', message('Four'))],
    { previousResponse: true },
  );
  const messages = [...change(await turn(server)), userMessage('Three')];
  await run(server, { messages });
  expect(server.bodies[1]).not.toHaveProperty('previous_response_id');
  expect(server.bodies[1]!['input']).toHaveLength(messages.length);
});

test('the id of a stored response is not sent to another server', async () => {
  const messages = await turn(
    served([() => completed('resp_1', message('Two'))], { previousResponse: true }),
  );
  const answer = [() => completed('resp_2', message('Four'))];
  const same = served(answer, { previousResponse: true });
  await run(same, { messages: [...messages, userMessage('Three')] });
  expect(same.bodies[0]).toHaveProperty('previous_response_id', 'resp_1');
  const baseURL = 'https://other.example/v1';
  const other = served(answer, { previousResponse: true, baseURL });
  await run(other, { messages: [...messages, userMessage('Three')] });
  expect(other.bodies[0]).not.toHaveProperty('previous_response_id');
  expect(other.bodies[0]!['input']).toHaveLength(3);
});

test('if the provider has deleted the stored response, the whole conversation is sent instead', async () => {
  const gone = { error: { code: 'previous_response_not_found', message: 'Not found.' } };
  const server = served(
    [
      () => completed('resp_1', message('Two')),
      () => new Response(JSON.stringify(gone), { status: 400 }),
      () => completed('resp_2', message('Four')),
    ],
    { previousResponse: true },
  );
  const agent = new ReActAgent({ name: 'a', model: server.model });
  await agent.call('One');
  expect((await agent.call('Three')).text).toBe('Four');
  expect(server.bodies[1]).toHaveProperty('previous_response_id', 'resp_1');
  expect(server.bodies[2]).not.toHaveProperty('previous_response_id');
  expect(server.bodies[2]!['input']).toHaveLength(3);
});

test('other errors of a continued request are thrown', async () => {
  const server = served(
    [
      () => completed('resp_1', message('Two')),
      () => new Response('{"error":{"message":"No quota"}}', { status: 429 }),
    ],
    { previousResponse: true },
  );
  const agent = new ReActAgent({ name: 'a', model: server.model });
  await agent.call('One');
  await expect(agent.call('Three')).rejects.toMatchObject({ code: 'MODEL_RATE_LIMITED' });
  expect(server.bodies).toHaveLength(2);
});

test.for([
  ['a string', 'gpt-5.4', 'The options of openaiResponses() must be an object'],
  ['no model', {}, 'model must be a string'],
  ['an unknown option', { model: 'm', store: true }, 'has no option `store`'],
  ['built-in tools that are not a list', { model: 'm', builtInTools: {} }, 'builtInTools'],
] as const)('openaiResponses() rejects %s', ([, options, words]) => {
  const create = () => openaiResponses(options as unknown as OpenAiResponsesOptions);
  expect(create).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
  expect(create).toThrow(words);
});

test('if chat completions reject the tools, the error repeats the words of the server', async () => {
  const refused = {
    error: {
      message:
        'Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. To use function tools, use /v1/responses.',
      type: 'invalid_request_error',
      param: 'reasoning_effort',
      code: null,
    },
  };
  const model = openai({
    model: 'gpt-5.4',
    fetch: async () => new Response(JSON.stringify(refused), { status: 400 }),
  });
  const agent = new ReActAgent({ name: 'a', model });
  const error = (await agent.call('Hi').catch((reason: unknown) => reason)) as AgentError;
  expect(error.code).toBe('MODEL_REQUEST');
  expect(error.message).toContain('To use function tools, use /v1/responses.');
});

test('a connection that stays open after the last event delays the reply only for a short time', async () => {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const event = {
        type: 'response.completed',
        response: { status: 'completed', output: [message('Hi')] },
      };
      controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
    },
  });
  const deltas = await run(served([() => new Response(body)], { timeoutMs: Infinity }));
  expect(deltas.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
});
