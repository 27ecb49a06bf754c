import { createUiMessageEncoder, toUiMessages, type UiChunk } from '@isoloop/core/stream';
import { validateUIMessages, type UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { ReActAgent } from '@isoloop/core';
import { openaiResponses } from '@isoloop/core/responses';
import { chunksOf, readChunks } from '@test/support/ui-chunks.ts';
import search from '@test/fixtures/responses-streams/openai-openai-web-search-tool-1.sse?raw';
import remoteTool from '@test/fixtures/responses-streams/openai-openai-mcp-tool-approval-4.sse?raw';

/**
 * Lets an agent answer with a recorded stream. Returns the UI chunks and the stored conversation.
 */
async function answerOf(recorded: string) {
  const model = openaiResponses({ model: 'gpt-5.4', fetch: async () => new Response(recorded) });
  const agent = new ReActAgent({ name: 'a', model });
  const chunks = await chunksOf(agent.stream('go'));
  return { chunks, messages: await agent.messages() };
}

const partsOf = (message: UIMessage, type: string) =>
  message.parts.filter((part) => part.type === type);

test('the UI stream shows the provider’s searches as tools, and cited pages as sources', async () => {
  const { chunks, messages } = await answerOf(search);
  const message = await readChunks(chunks);
  const tools = partsOf(message, 'dynamic-tool');
  expect(tools.length).toBeGreaterThan(0);
  for (const part of tools)
    expect(part).toMatchObject({
      toolName: 'web_search',
      state: 'output-available',
      providerExecuted: true,
    });
  const sources = partsOf(message, 'source-url');
  expect(sources.length).toBeGreaterThan(0);
  const [history] = await validateUIMessages({ messages: toUiMessages(messages).slice(1) });
  expect(partsOf(history!, 'dynamic-tool')).toEqual(JSON.parse(JSON.stringify(tools)));
  expect(partsOf(history!, 'source-url')).toEqual(sources);
  expect(partsOf(history!, 'reasoning')).toEqual([]);
});

/** Returns the parts in a form that is the same for a live message and for one of the history. */
const shownParts = ({ parts }: UIMessage): readonly unknown[] =>
  parts.flatMap((part) => {
    if (part.type === 'step-start') return [];
    if (part.type === 'text' || part.type === 'reasoning') return [[part.type, part.text]];
    return part.type === 'dynamic-tool' ? [[part.toolName, part.state]] : [[part.type]];
  });

const recordings = import.meta.glob<string>('../../../../test/fixtures/responses-streams/*.sse', {
  query: '?raw',
  import: 'default',
  eager: true,
});
const withoutCalls = Object.entries(recordings).filter(
  ([, recorded]) => !/"type":"function_call"|response.failed|"type":"error"/.test(recorded),
);

test.for(withoutCalls)('%s has the same order live and after a reload', async ([, recorded]) => {
  const { chunks, messages } = await answerOf(recorded);
  const [, history] = toUiMessages(messages);
  expect(shownParts(await readChunks(chunks))).toEqual(shownParts(history as UIMessage));
});

test('the provider’s searches come before the text that they are for', async () => {
  const { chunks } = await answerOf(search);
  const types = shownParts(await readChunks(chunks)).map((part) => (part as readonly string[])[0]);
  expect(types.indexOf('web_search')).toBeGreaterThanOrEqual(0);
  expect(types.lastIndexOf('web_search')).toBeLessThan(types.indexOf('text'));
});

test('a search is shown while it runs, and stays unfinished if the reply is incomplete', async () => {
  const call = { type: 'web_search_call', id: 'ws_1', status: 'in_progress' };
  const events = [
    { type: 'response.output_item.added', output_index: 0, item: call },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Hm' },
    { type: 'response.incomplete', response: { incomplete_details: null } },
  ];
  const recorded = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const { chunks, messages } = await answerOf(recorded);
  const parts = [
    ['web_search', 'input-available'],
    ['text', 'Hm'],
  ];
  expect(shownParts(await readChunks(chunks))).toEqual(parts);
  expect(shownParts(toUiMessages(messages)[1] as UIMessage)).toEqual(parts);
  expect(messages[1]!.content[0]!.providerMetadata).not.toHaveProperty('responses');
});

const begun: readonly object[] = [
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { type: 'reasoning', id: 'rs_1', summary: [] },
  },
  { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'So' },
  { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Hello' },
  {
    type: 'response.output_item.added',
    output_index: 2,
    item: { type: 'web_search_call', id: 'ws_1', status: 'in_progress' },
  },
  {
    type: 'response.output_item.added',
    output_index: 3,
    item: { type: 'function_call', call_id: 'c1', name: 'look', arguments: '' },
  },
  { type: 'response.function_call_arguments.delta', output_index: 3, delta: '{"a":' },
];

const problem = { code: 'server_error', message: 'Oops' };

test.for<[name: string, end: readonly object[]]>([
  ['response.failed', [{ type: 'response.failed', response: { error: problem } }]],
  ['an error event', [{ type: 'error', ...problem }]],
  ['a broken connection', []],
])('after %s, no part of the message stays open', async ([, end]) => {
  const recorded = [...begun, ...end].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const model = openaiResponses({ model: 'gpt-5.4', fetch: async () => new Response(recorded) });
  const agent = new ReActAgent({ name: 'a', model });
  const encoder = createUiMessageEncoder();
  const chunks: UiChunk[] = [];
  const batches = agent.stream('go', { throwOnError: false }).batches();
  for await (const batch of batches) chunks.push(...encoder.encode(batch));
  expect(chunks.at(-1)).toMatchObject({ type: 'error' });
  const message = await readChunks(chunks.slice(0, -1));
  expect(shownParts(message)).toEqual([
    ['reasoning', 'So'],
    ['text', 'Hello'],
    ['web_search', 'output-error'],
    ['look', 'output-error'],
  ]);
  for (const part of message.parts) expect(part).not.toMatchObject({ state: 'streaming' });
});

test('a search that an abort interrupts has an error, live and after a reload', async () => {
  const abort = new AbortController();
  const model = openaiResponses({
    model: 'gpt-5.4',
    fetch: async () => {
      const events = begun.slice(0, 4).map((event) => `data: ${JSON.stringify(event)}\n\n`);
      return new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode(events.join(''))),
        }),
      );
    },
  });
  const agent = new ReActAgent({ name: 'a', model });
  const encoder = createUiMessageEncoder();
  const chunks: UiChunk[] = [];
  const stream = agent.stream('go', { signal: abort.signal });
  for await (const event of stream) {
    chunks.push(...encoder.encode([event]));
    if (event.type === 'hosted-tool-chunk') abort.abort();
  }
  const parts = [
    ['reasoning', 'So'],
    ['text', 'Hello'],
    ['web_search', 'output-error'],
  ];
  expect(shownParts(await readChunks(chunks))).toEqual(parts);
  const history = toUiMessages(await agent.messages())[1] as UIMessage;
  expect(shownParts(history)).toEqual(parts);
});

test('the output of a shell call that comes as an item of its own ends the call', async () => {
  const call = { type: 'shell_call', id: 'sh_1', call_id: 'c1', action: { commands: ['ls'] } };
  const output = [{ stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exit_code: 0 } }];
  const items = [call, { type: 'shell_call_output', id: 'sho_1', call_id: 'c1', output }];
  const recordOf = (...shown: readonly object[]): string =>
    [
      ...shown.map((item, output_index) => ({
        type: 'response.output_item.done',
        output_index,
        item,
      })),
      { type: 'response.completed', response: {} },
    ]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join('');
  const ended = await answerOf(recordOf(...items));
  expect(partsOf(await readChunks(ended.chunks), 'dynamic-tool')).toMatchObject([
    { toolName: 'shell', state: 'output-available', input: call.action, output },
  ]);
  // The client has to run this call.
  const open = await answerOf(recordOf(call));
  expect(partsOf(await readChunks(open.chunks), 'dynamic-tool')).toMatchObject([
    { toolName: 'shell', state: 'input-available' },
  ]);
});

test("the UI stream shows a tool call of the provider's MCP connector with input and output", async () => {
  const { chunks } = await answerOf(remoteTool);
  expect(partsOf(await readChunks(chunks), 'dynamic-tool')).toEqual([
    expect.objectContaining({
      toolName: 'create_short_url',
      input: expect.objectContaining({ url: 'https://ai-sdk.dev/' }),
      output: expect.stringContaining('Short URL created'),
      providerExecuted: true,
    }),
  ]);
});
