import { createAnthropic } from '@ai-sdk/anthropic';
import type { UIMessage } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { expect, test } from 'vitest';
import { MemoryStore, ReActAgent, SessionMemory, tool, type ChatModel } from '@isoloop/core';
import { fromAiSdk, type AiSdkLanguageModel } from '@isoloop/core/ai-sdk';
import { toUiMessages } from '@isoloop/core/stream';
import { chunksOf, readChunks } from '@test/support/ui-chunks.ts';

type Part = Readonly<Record<string, unknown> & { readonly type: string }>;

const callOf = (id: string): Part => ({
  type: 'tool-call',
  toolCallId: id,
  toolName: 'search',
  input: '{"query":"news"}',
  providerExecuted: true,
  providerMetadata: { fake: { of: id } },
});

const resultOf = (id: string, result: unknown = { hits: 1 }): Part => ({
  type: 'tool-result',
  toolCallId: id,
  toolName: 'search',
  result,
});

const textOf = (text: string): readonly Part[] => [
  { type: 'text-start', id: text },
  { type: 'text-delta', id: text, delta: text },
  { type: 'text-end', id: text },
];

const lookCall: Part = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{}' };

const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
const finish: Part = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: { inputTokens: tokens, outputTokens: tokens },
};

const look = tool({ name: 'look', description: 'Looks', input: {}, execute: () => 'seen' });

const streamOf = <T>(values: readonly T[]): ReadableStream<T> =>
  new ReadableStream({
    start(controller) {
      for (const value of values) controller.enqueue(value);
      controller.close();
    },
  });

/**
 * Creates an agent whose model gives these replies. `prompts()` returns what the model was sent.
 */
function setUp(...replies: readonly (readonly Part[])[]) {
  const left = replies.map((parts) => [...parts, finish]);
  const model = new MockLanguageModelV4({
    provider: 'fake',
    doStream: async () => {
      const parts = left.shift()!;
      return { stream: streamOf(parts) as never };
    },
  });
  const agent = new ReActAgent({ name: 'a', model: fromAiSdk(model), tools: [look] });
  const prompts = (): readonly (readonly { role: string; content: readonly Part[] }[])[] =>
    model.doStreamCalls.map(({ prompt }) => prompt as never);
  return { agent, prompts };
}

const shown = ({ parts }: { readonly parts: readonly object[] }): readonly unknown[] =>
  (parts as UIMessage['parts']).flatMap((part): readonly unknown[] => {
    if (part.type === 'text') return [part.text];
    return part.type === 'dynamic-tool' ? [[part.toolName, part.state, part.input]] : [];
  });

/** Asks the agent. Returns the parts of the answer, live and after a reload. */
async function ask(agent: ReActAgent) {
  const live = await readChunks(await chunksOf(agent.stream('go')));
  const history = toUiMessages(await agent.messages()).at(-1)!;
  return { live: shown(live), history: shown(history) };
}

/** Returns the types of a message's parts. */
const sent = (
  messages: readonly { role: string; content: readonly Part[] }[],
): readonly unknown[] =>
  messages.map(({ role, content }) =>
    role === 'system' ? role : `${role}: ${content.map(({ type }) => type).join()}`,
  );

const input = { query: 'news' };

test('a hosted tool comes before the text that follows it, live and after a reload', async () => {
  const { agent } = setUp([
    ...textOf('First'),
    callOf('w1'),
    resultOf('w1'),
    ...textOf('Then'),
    callOf('w2'),
    resultOf('w2', null),
    ...textOf('Last'),
  ]);
  const { live, history } = await ask(agent);
  const ended = ['search', 'output-available', input];
  expect(live).toEqual(['First', ended, 'Then', ended, 'Last']);
  expect(history).toEqual(live);
});

test('a hosted tool without a result is shown as unfinished and is not sent back', async () => {
  const { agent, prompts } = setUp([callOf('w1'), ...textOf('Hm')], textOf('Done'));
  const { live, history } = await ask(agent);
  expect(live).toEqual([['search', 'input-available', input], 'Hm']);
  expect(history).toEqual(live);
  await agent.call('more');
  expect(sent(prompts()[1]!)).toEqual(['user: text', 'assistant: text', 'user: text']);
});

test('a preliminary result does not end a hosted tool', async () => {
  const { agent } = setUp([
    callOf('w1'),
    { ...resultOf('w1'), preliminary: true },
    ...textOf('Hm'),
  ]);
  const { live, history } = await ask(agent);
  expect(live[0]).toEqual(['search', 'input-available', input]);
  expect(history).toEqual(live);
});

test('a reply of only unfinished hosted tools leaves no empty message in the next request', async () => {
  const reasoning = [
    { type: 'reasoning-start', id: 'r', providerMetadata: { fake: { itemId: 'rs_1' } } },
    { type: 'reasoning-delta', id: 'r', delta: 'I search.' },
    { type: 'reasoning-end', id: 'r' },
  ];
  const { agent, prompts } = setUp([...reasoning, callOf('w1')], textOf('Done'));
  await agent.call('go');
  await agent.call('more');
  expect(sent(prompts()[1]!)).toEqual(['user: text', 'user: text']);
});

test('the same id in two replies of an answer is two calls', async () => {
  const { agent } = setUp([callOf('w1'), resultOf('w1'), lookCall], [callOf('w1'), resultOf('w1')]);
  const { live, history } = await ask(agent);
  expect(live).toHaveLength(3);
  expect(history).toEqual(live);
});

test('a result in a later reply ends the call in the earlier one', async () => {
  const { agent, prompts } = setUp(
    [callOf('w1'), lookCall],
    [resultOf('w1'), ...textOf('Done')],
    textOf('Fine'),
  );
  const { live, history } = await ask(agent);
  expect(live).toEqual([
    ['search', 'output-available', input],
    ['look', 'output-available', {}],
    'Done',
  ]);
  expect(history).toEqual(live);
  // The provider still waits for our tool, so it needs its own open call back.
  expect(sent(prompts()[1]!)).toEqual([
    'user: text',
    'assistant: tool-call,tool-call',
    'tool: tool-result',
  ]);
  await agent.call('more');
  const again = prompts()[2]!;
  expect(sent(again)).toEqual([
    'user: text',
    'assistant: tool-call,tool-call',
    'tool: tool-result',
    'assistant: tool-result,text',
    'user: text',
  ]);
  expect(again[1]!.content[0]).toMatchObject({
    toolCallId: 'w1',
    input,
    providerExecuted: true,
    providerOptions: { fake: { of: 'w1' } },
  });
  expect(again[3]!.content[0]).toMatchObject({
    toolCallId: 'w1',
    output: { type: 'json', value: { hits: 1 } },
  });
});

test('an open call is no longer sent once the user has written again', async () => {
  const { agent, prompts } = setUp([callOf('w1'), lookCall], textOf('Done'), textOf('Fine'));
  await agent.call('go');
  await agent.call('more');
  expect(sent(prompts()[2]!)).toEqual([
    'user: text',
    'assistant: tool-call',
    'tool: tool-result',
    'assistant: text',
    'user: text',
  ]);
});

test('a result whose call is unknown is shown, but not sent back', async () => {
  const { agent, prompts } = setUp([resultOf('w9'), ...textOf('Done')], textOf('Fine'));
  const { live, history } = await ask(agent);
  expect(live).toEqual([['search', 'output-available', {}], 'Done']);
  expect(history).toEqual(live);
  await agent.call('more');
  expect(sent(prompts()[1]!)).toEqual(['user: text', 'assistant: text', 'user: text']);
});

test("Anthropic's code execution that waits for our tool is sent back as it came", async () => {
  const sse = (...events: readonly object[]): Response =>
    new Response(events.map((data) => `data: ${JSON.stringify(data)}\n\n`).join(''));
  const usage = { input_tokens: 1, output_tokens: 1 };
  const about = { id: 'm', type: 'message', role: 'assistant', model: 'c', content: [], usage };
  const block = (index: number, content_block: object, ...deltas: object[]): readonly object[] => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const reply = (stop_reason: string, ...blocks: readonly object[]): Response =>
    sse(
      { type: 'message_start', message: { ...about, stop_reason: null } },
      ...blocks,
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    );
  const caller = { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' };
  const run = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: {} };
  const code = { type: 'input_json_delta', partial_json: '{"code":"look()"}' };
  const ours = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {}, caller };
  const content = {
    type: 'code_execution_result',
    stdout: 'seen',
    stderr: '',
    return_code: 0,
    content: [],
  };
  const result = { type: 'code_execution_tool_result', tool_use_id: 'srvtoolu_1', content };
  const replies = [
    reply('tool_use', ...block(0, run, code), ...block(1, ours)),
    reply(
      'end_turn',
      ...block(0, result),
      ...block(1, { type: 'text', text: '' }, { type: 'text_delta', text: 'Seen.' }),
    ),
    reply('end_turn', ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Ok' })),
  ];
  const requests: { messages: { role: string; content: Part[] }[] }[] = [];
  const anthropic = createAnthropic({
    apiKey: 'k',
    fetch: async (_, init) => {
      requests.push(JSON.parse(init!.body as string) as (typeof requests)[0]);
      return replies.shift()!;
    },
  });
  const model: ChatModel = fromAiSdk(anthropic('claude-sonnet-4-5') as AiSdkLanguageModel);
  const memory = new SessionMemory(new MemoryStore(), 's');
  const agent = new ReActAgent({ name: 'a', model, tools: [look], memory });
  expect((await agent.call('go')).text).toBe('Seen.');
  await agent.call('more');
  const types = requests.map(({ messages }) =>
    messages.map(({ role, content: parts }) => `${role}: ${parts.map(({ type }) => type).join()}`),
  );
  const turn = ['user: text', 'assistant: server_tool_use,tool_use', 'user: tool_result'];
  expect(types[1]).toEqual(turn);
  expect(types[2]).toEqual([...turn, 'assistant: code_execution_tool_result,text', 'user: text']);
  expect(requests[2]!.messages[1]!.content[0]).toMatchObject({ input: { code: 'look()' } });
});
