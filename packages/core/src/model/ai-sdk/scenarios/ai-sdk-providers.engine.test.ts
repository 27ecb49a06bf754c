import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { expect, test } from 'vitest';
import * as z from 'zod';
import {
  assistantMessage,
  ReActAgent,
  systemMessage,
  tool,
  userMessage,
  type AgentOptions,
} from '@isoloop/core';
import { fromAiSdk, type AiSdkLanguageModel } from '@isoloop/core/ai-sdk';
import { toUiMessages, type UIMessagePart } from '@isoloop/core/stream';
import { structured } from '@isoloop/core/output';
import chatTool from '@test/fixtures/provider-streams/xai-tool-call.chunks.txt?raw';
import webSearch from '@test/fixtures/responses-streams/openai-openai-web-search-tool-1.sse?raw';
import failure from '@test/fixtures/responses-streams/openai-openai-error-1.sse?raw';

// The streams of Anthropic and Google are written from the providers' documentation of their wire
// formats. Those of OpenAI are recordings.

type Wire = Readonly<Record<string, unknown>>;

const sse = (events: readonly Wire[]): string =>
  events.map((data) => `data: ${JSON.stringify(data)}\n\n`).join('');

/** Anthropic's message with these content blocks, each with its deltas. */
const claude = (stop: string, ...blocks: readonly (readonly [Wire, ...Wire[]])[]): string => {
  const usage = { input_tokens: 9, output_tokens: 1, cache_read_input_tokens: 4 };
  const about = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [] };
  const content = blocks.flatMap(([content_block, ...deltas], index) => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]);
  const delta = { stop_reason: stop, stop_sequence: null };
  return sse([
    { type: 'message_start', message: { ...about, stop_reason: null, stop_sequence: null, usage } },
    { type: 'ping' },
    ...content,
    { type: 'message_delta', delta, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  ]);
};

/** Gemini's reply with these parts, one in each event. */
const gemini = (...parts: readonly Wire[]): string =>
  sse(
    parts.map((part, index) => ({
      candidates: [
        {
          index: 0,
          content: { role: 'model', parts: [part] },
          ...(index === parts.length - 1 && { finishReason: 'STOP' }),
        },
      ],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, thoughtsTokenCount: 3 },
    })),
  );

interface Requests {
  readonly sent: Wire[];
  readonly fetch: typeof fetch;
}

/** Answers each request with the next reply. Keeps the bodies of the requests. */
function serve(...replies: readonly (string | Response)[]): Requests {
  const left = [...replies];
  const sent: Wire[] = [];
  return {
    sent,
    fetch: async (_, init) => {
      sent.push(JSON.parse(init!.body as string) as Wire);
      const reply = left.shift()!;
      const headers = { 'content-type': 'text/event-stream' };
      return typeof reply === 'string' ? new Response(reply, { headers }) : reply;
    },
  };
}

type Open = (fetch: typeof globalThis.fetch) => AiSdkLanguageModel;
const anthropic: Open = (fetch) => createAnthropic({ apiKey: 'k', fetch })('claude-sonnet-4-5');
const google: Open = (fetch) => createGoogle({ apiKey: 'k', fetch })('gemini-3-pro-preview');
const responses: Open = (fetch) => createOpenAI({ apiKey: 'k', fetch })('gpt-5.4');
const chat: Open = (fetch) => createOpenAI({ apiKey: 'k', fetch }).chat('gpt-4.1');

const weather = tool({
  name: 'weather',
  description: 'The weather of a place',
  input: { type: 'object', properties: { location: { type: 'string' } } },
  execute: () => 'mild',
});

const agentOf = (open: Open, fetch: typeof globalThis.fetch, more: Partial<AgentOptions> = {}) =>
  new ReActAgent({ name: 'a', model: fromAiSdk(open(fetch)), ...more });

async function partsOf(agent: ReActAgent): Promise<readonly UIMessagePart[]> {
  return toUiMessages(await agent.messages()).flatMap(({ role, parts }) =>
    role === 'assistant' ? parts.filter(({ type }) => type !== 'step-start') : [],
  );
}

const claudeText = [
  { type: 'text', text: '' },
  { type: 'text_delta', text: 'Mild' },
  { type: 'text_delta', text: '.' },
] as const;

test('Anthropic: thinking and its signature are sent back with the tool call and its result', async () => {
  const asks = claude(
    'tool_use',
    [
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'I look' },
      { type: 'thinking_delta', thinking: ' it up.' },
      { type: 'signature_delta', signature: 'SIGNED' },
    ],
    [{ type: 'redacted_thinking', data: 'HIDDEN' }],
    [
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} },
      { type: 'input_json_delta', partial_json: '' },
      { type: 'input_json_delta', partial_json: '{"location":' },
      { type: 'input_json_delta', partial_json: ' "Oslo"}' },
    ],
  );
  const { sent, fetch } = serve(asks, claude('end_turn', [...claudeText]));
  const agent = agentOf(anthropic, fetch, { tools: [weather] });
  const result = await agent.call('Weather?');
  expect(result).toMatchObject({ text: 'Mild.', reason: 'stop' });
  expect(result.usage).toMatchObject({ outputTokens: 14, cachedInputTokens: 8 });
  expect((sent[1]!['messages'] as Wire[]).slice(1)).toMatchObject([
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'I look it up.', signature: 'SIGNED' },
        { type: 'redacted_thinking', data: 'HIDDEN' },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { location: 'Oslo' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] },
  ]);
});

test('Anthropic: JSON that the package asks for as a tool call is the reply of an older model', async () => {
  const json = { type: 'tool_use', id: 'toolu_1', name: 'json', input: {} };
  const input = { type: 'input_json_delta', partial_json: '{"city":"Oslo"}' };
  const { sent, fetch } = serve(claude('tool_use', [json, input]));
  const open: Open = () => createAnthropic({ apiKey: 'k', fetch })('claude-3-haiku-20240307');
  const output = structured(z.object({ city: z.string() }), { mode: 'prompt' });
  const result = await agentOf(open, fetch).call('Where?', { use: output });
  expect(result).toMatchObject({ output: { city: 'Oslo' }, reason: 'stop' });
  expect(result).not.toHaveProperty('incomplete');
  expect(sent).toHaveLength(1);
});

const found = {
  type: 'web_search_result',
  url: 'https://x.test/a',
  title: 'A page',
  page_age: null,
  encrypted_content: 'ENCRYPTED',
};
const searches = claude(
  'end_turn',
  [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    { type: 'input_json_delta', partial_json: '{"query": "news"}' },
  ],
  [{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] }],
  [...claudeText],
);

test('Anthropic: its web search is a hosted tool with sources, and is sent back', async () => {
  const { sent, fetch } = serve(searches, claude('end_turn', [...claudeText]));
  const agent = agentOf(anthropic, fetch);
  await agent.call('News?');
  expect(await partsOf(agent)).toMatchObject([
    {
      type: 'dynamic-tool',
      toolName: 'web_search',
      toolCallId: 'srvtoolu_1',
      state: 'output-available',
      input: { query: 'news' },
      output: [{ url: 'https://x.test/a' }],
      providerExecuted: true,
    },
    { type: 'text', text: 'Mild.' },
    { type: 'source-url', url: 'https://x.test/a', title: 'A page' },
  ]);
  await agent.call('More?');
  expect((sent[1]!['messages'] as Wire[])[1]).toMatchObject({
    role: 'assistant',
    content: [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'news' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [{ url: 'https://x.test/a', encrypted_content: 'ENCRYPTED' }],
      },
      { type: 'text', text: 'Mild.' },
    ],
  });
});

test('Anthropic: a search that failed is a hosted tool with an error', async () => {
  const error = { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' };
  const { fetch } = serve(
    claude(
      'end_turn',
      [{ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }],
      [{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: error }],
      [...claudeText],
    ),
  );
  const agent = agentOf(anthropic, fetch);
  await agent.call('News?');
  expect((await partsOf(agent))[0]).toMatchObject({
    state: 'output-error',
    errorText: expect.stringContaining('max_uses_exceeded'),
    providerExecuted: true,
  });
});

test('the hosted tool of one provider is not sent to another one', async () => {
  const first = serve(searches);
  const agent = agentOf(anthropic, first.fetch);
  await agent.call('News?');
  const { sent, fetch } = serve(gemini({ text: 'Fine.' }));
  const other = agentOf(google, fetch, { memory: agent.memory });
  expect((await other.call('And now?')).text).toBe('Fine.');
  expect(sent[0]!['contents']).toMatchObject([
    { role: 'user' },
    { role: 'model', parts: [{ text: 'Mild.' }] },
    { role: 'user' },
  ]);
  expect(JSON.stringify(sent)).not.toContain('ENCRYPTED');
});

test('Google: thoughts, a call with a signature, and the signature in the next request', async () => {
  const { sent, fetch } = serve(
    gemini(
      { text: 'I look it up.', thought: true },
      {
        functionCall: { name: 'weather', args: { location: 'Oslo' } },
        thoughtSignature: 'SIGNED',
      },
    ),
    gemini({ text: 'Mild.' }),
  );
  const agent = agentOf(google, fetch, { tools: [weather] });
  expect(await agent.call('Weather?')).toMatchObject({
    text: 'Mild.',
    reason: 'stop',
    usage: { reasoningTokens: 6 },
  });
  expect((await partsOf(agent))[0]).toMatchObject({ type: 'reasoning', text: 'I look it up.' });
  const model = (sent[1]!['contents'] as Wire[])[1]!;
  expect((model['parts'] as Wire[]).at(-1)).toMatchObject({
    functionCall: { name: 'weather', args: { location: 'Oslo' } },
    thoughtSignature: 'SIGNED',
  });
});

test('Google: a picture that it makes is a file, and a picture of the user is sent', async () => {
  const png = { mimeType: 'image/png', data: 'iVBORw0KGgo=' };
  const { sent, fetch } = serve(gemini({ text: 'Here:' }, { inlineData: png }));
  const agent = agentOf(google, fetch);
  const source = { type: 'base64', mediaType: 'image/png', data: png.data } as const;
  await agent.call({
    id: 'u1',
    role: 'user',
    createdAt: '2026-01-01T00:00:00.000Z',
    content: [
      { type: 'text', text: 'Like this' },
      { type: 'image', source },
    ],
  });
  const [asked] = sent[0]!['contents'] as Wire[];
  expect(asked).toMatchObject({ parts: [{ text: 'Like this' }, { inlineData: png }] });
  expect(await partsOf(agent)).toMatchObject([
    { type: 'text', text: 'Here:' },
    { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${png.data}` },
  ]);
});

test('OpenAI Responses: web searches are hosted tools, and cited pages are sources', async () => {
  const { sent, fetch } = serve(webSearch, webSearch);
  const agent = agentOf(responses, fetch);
  const { text } = await agent.call('News?');
  expect(text.length).toBeGreaterThan(100);
  const parts = await partsOf(agent);
  const tools = parts.filter(({ type }) => type === 'dynamic-tool');
  expect(tools.length).toBeGreaterThan(0);
  for (const part of tools)
    expect(part).toMatchObject({ state: 'output-available', providerExecuted: true });
  expect(parts.filter(({ type }) => type === 'source-url').length).toBeGreaterThan(0);
  await agent.call('More?');
  // OpenAI stores the items, so the provider refers to them by id.
  const referred = (sent[1]!['input'] as Wire[]).filter(({ type }) => type === 'item_reference');
  expect(referred.length).toBeGreaterThanOrEqual(tools.length);
});

test('OpenAI chat: a recorded tool call runs, and its result is sent back', async () => {
  const recorded = chatTool
    .trim()
    .split('\n')
    .map((line) => `data: ${line}\n\n`)
    .join('');
  const chunk = {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'm',
    choices: [{ index: 0, delta: { content: 'Mild.' }, finish_reason: 'stop' }],
  };
  const { sent, fetch } = serve(`${recorded}data: [DONE]\n\n`, `${sse([chunk])}data: [DONE]\n\n`);
  const agent = agentOf(chat, fetch, { tools: [weather] });
  expect((await agent.call('Weather?')).text).toBe('Mild.');
  expect((sent[1]!['messages'] as Wire[]).at(-1)).toMatchObject({ role: 'tool', content: 'mild' });
});

test.for<[name: string, open: Open, reply: string, field: string]>([
  ['Google', google, gemini({ text: 'Hi' }), 'contents'],
  ['Anthropic', anthropic, claude('end_turn', [...claudeText]), 'messages'],
])('%s: a system message within the conversation is sent as one of the user', async (row) => {
  const [, open, reply, field] = row;
  const { sent, fetch } = serve(reply);
  const input = [userMessage('Hi'), assistantMessage('Yes?'), systemMessage('Be brief.')];
  await agentOf(open, fetch).call([...input, userMessage('Where?')]);
  const messages = sent[0]![field] as readonly Wire[];
  const users = messages.filter(({ role }) => role === 'user');
  expect(JSON.stringify(users)).toContain('Be brief.');
  expect(messages.some(({ role }) => role === 'system')).toBe(false);
});

const refused = (status: number, body: Wire, headers: HeadersInit = {}): Response =>
  Response.json(body, { status, headers });
const ofAnthropic = (type: string) => ({ type: 'error', error: { type, message: 'No.' } });
const ofGoogle = (code: number, status: string) => ({ error: { code, status, message: 'No.' } });

test.for<[name: string, open: Open, reply: string | Response, code: string]>([
  ['Anthropic 401', anthropic, refused(401, ofAnthropic('authentication_error')), 'MODEL_AUTH'],
  ['Anthropic 429', anthropic, refused(429, ofAnthropic('rate_limit_error')), 'MODEL_RATE_LIMITED'],
  ['Anthropic 400', anthropic, refused(400, ofAnthropic('invalid_request_error')), 'MODEL_REQUEST'],
  ['Anthropic 529', anthropic, refused(529, ofAnthropic('overloaded_error')), 'MODEL_SERVER'],
  ['Google 429', google, refused(429, ofGoogle(429, 'RESOURCE_EXHAUSTED')), 'MODEL_RATE_LIMITED'],
  ['Google 503', google, refused(503, ofGoogle(503, 'UNAVAILABLE')), 'MODEL_SERVER'],
  ['OpenAI, in the stream', responses, failure, 'MODEL_RATE_LIMITED'],
  [
    'Anthropic, in the stream',
    anthropic,
    `${claude('end_turn', [...claudeText]).split('data: {"type":"message_delta"')[0]}${sse([ofAnthropic('overloaded_error')])}`,
    'MODEL_SERVER',
  ],
  [
    'Anthropic, cut',
    anthropic,
    claude('end_turn', [...claudeText]).split('data: {"type":"message_delta"')[0]!,
    'MODEL_BAD_RESPONSE',
  ],
])('%s: the error has the code of its cause', async ([, open, reply, code]) => {
  const { fetch } = serve(reply);
  const { error } = await agentOf(open, fetch).call('Hi', { throwOnError: false });
  expect(error?.code).toBe(code);
});
