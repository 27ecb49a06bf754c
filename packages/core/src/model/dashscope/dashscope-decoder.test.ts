import { expect, test } from 'vitest';
import type { ModelDelta } from '../chat-model.ts';
import { EventReply } from '../http/event-reply.ts';
import { DashScopeDecoder } from './dashscope-decoder.ts';
import { testMalformedChunks } from '@test/support/malformed-chunks.ts';

const chunk = (message: object, finishReason: string | null = 'null', usage?: object): object => ({
  output: {
    choices: [{ message: { role: 'assistant', ...message }, finish_reason: finishReason }],
  },
  ...(usage ? { usage } : {}),
  request_id: 'r1',
});

const event = (data: object, index: number): string =>
  `id:${index + 1}\nevent:result\n:HTTP_STATUS/200\ndata:${JSON.stringify(data)}\n\n`;

const fragment = (index: number, id: string, fields: object): object => ({
  index,
  id,
  type: 'function',
  function: fields,
});

/** Thinking, text and two tool calls, as the text service sends them with incremental output. */
const reply = [
  chunk({ content: '', reasoning_content: '用户' }),
  chunk({ content: '', reasoning_content: '问天气。' }),
  chunk({ content: '我来', reasoning_content: '' }),
  chunk({ content: '查一下。🌤️', reasoning_content: '' }),
  chunk({
    content: '',
    tool_calls: [fragment(0, 'call_a', { name: 'weather', arguments: '{"city": ' })],
  }),
  chunk({ content: '', tool_calls: [fragment(0, '', { arguments: '"杭州"}' })] }),
  chunk({
    content: '',
    tool_calls: [
      fragment(0, '', { arguments: '' }),
      fragment(1, 'call_b', { name: 'weather', arguments: '' }),
    ],
  }),
  chunk({ content: '', tool_calls: [fragment(1, '', { arguments: '{"city": "上海"}' })] }),
  chunk({ content: '' }, 'tool_calls', {
    input_tokens: 30,
    output_tokens: 12,
    total_tokens: 42,
    prompt_tokens_details: { cached_tokens: 16 },
    output_tokens_details: { reasoning_tokens: 4 },
  }),
];

const read: readonly ModelDelta[] = [
  { type: 'thinking', id: 'thinking-0', delta: '用户' },
  { type: 'thinking', id: 'thinking-0', delta: '问天气。' },
  { type: 'text', id: 'text-1', delta: '我来' },
  { type: 'text', id: 'text-1', delta: '查一下。🌤️' },
  { type: 'tool-input', index: 0, id: 'call_a', name: 'weather', delta: '{"city": ' },
  { type: 'tool-input', index: 0, delta: '"杭州"}' },
  { type: 'tool-input', index: 1, id: 'call_b', name: 'weather', delta: '' },
  { type: 'tool-input', index: 1, delta: '{"city": "上海"}' },
  {
    type: 'finish',
    reason: 'tool_calls',
    usage: { inputTokens: 30, outputTokens: 12, reasoningTokens: 4, cachedInputTokens: 16 },
    metadata: { id: 'r1' },
  },
];

const stream = new TextEncoder().encode(reply.map(event).join(''));

function push(...pieces: readonly Uint8Array[]): readonly ModelDelta[] {
  const eventReply = new EventReply(new DashScopeDecoder());
  const deltas = pieces.flatMap((piece) => eventReply.push(piece));
  const all = [...deltas, ...eventReply.end({ url: 'https://host/v1' })];
  expect(eventReply.error).toBeUndefined();
  return all;
}

const decode = (...chunks: readonly unknown[]): ModelDelta[] => {
  const decoder = new DashScopeDecoder();
  const deltas: ModelDelta[] = [];
  for (const each of chunks) decoder.decode(each, deltas);
  return [...deltas, decoder.end()];
};

test('thinking, text and parallel tool calls are read correctly, however the stream is cut into bytes', () => {
  expect(push(stream)).toEqual(read);
  expect(push(...Array.from(stream, (byte) => Uint8Array.of(byte)))).toEqual(read);
  const expected = JSON.stringify(read);
  for (let cut = 1; cut < stream.length; cut++) {
    const same = JSON.stringify(push(stream.subarray(0, cut), stream.subarray(cut))) === expected;
    if (!same) expect.unreachable(`differs when cut at ${cut}`);
  }
});

test('a finish reason that is the text "null" is ignored', () => {
  const decoder = new DashScopeDecoder();
  decoder.decode(chunk({ content: 'a' }), []);
  expect(decoder.finishReason).toBe('');
  decoder.decode(chunk({ content: '' }, 'stop'), []);
  expect(decoder.finishReason).toBe('stop');
  expect(decoder.end()).toEqual({ type: 'finish', reason: 'stop', metadata: { id: 'r1' } });
});

test('the multimodal service sends content in parts, and an empty list while it thinks', () => {
  expect(
    decode(
      chunk({ content: [], reasoning_content: 'so' }),
      chunk({ content: [{ text: '这是' }] }),
      chunk({ content: [{ text: '海滩' }, { text: '。' }] }),
      chunk({ content: [] }, 'stop', { input_tokens: 1283, output_tokens: 5, image_tokens: 1247 }),
    ),
  ).toEqual([
    { type: 'thinking', id: 'thinking-0', delta: 'so' },
    { type: 'text', id: 'text-1', delta: '这是' },
    { type: 'text', id: 'text-1', delta: '海滩' },
    { type: 'text', id: 'text-1', delta: '。' },
    {
      type: 'finish',
      reason: 'stop',
      usage: { inputTokens: 1283, outputTokens: 5 },
      metadata: { id: 'r1' },
    },
  ]);
});

test('a reply in one piece is read', () => {
  const message = { content: '', tool_calls: [fragment(0, 'c', { name: 'f', arguments: '{}' })] };
  expect(decode(chunk(message, 'tool_calls'))).toEqual([
    { type: 'tool-input', index: 0, id: 'c', name: 'f', delta: '{}' },
    { type: 'finish', reason: 'tool_calls', metadata: { id: 'r1' } },
  ]);
});

test('the last usage counts, and cached tokens are read from either of two fields', () => {
  const usageOf = (...usages: readonly object[]): unknown => {
    const end = decode(...usages.map((usage) => chunk({ content: '' }, null, usage))).at(-1);
    return end?.type === 'finish' && end.usage;
  };
  expect(
    usageOf({ input_tokens: 5, output_tokens: 1 }, { input_tokens: 5, output_tokens: 3 }),
  ).toEqual({
    inputTokens: 5,
    outputTokens: 3,
  });
  expect(
    usageOf({
      input_tokens: 5,
      output_tokens: 1,
      input_tokens_details: { cached_tokens: 4, image_tokens: 2 },
    }),
  ).toEqual({
    inputTokens: 5,
    outputTokens: 1,
    cachedInputTokens: 4,
  });
});

test.each([
  [null],
  ['text'],
  [[]],
  [{}],
  [{ output: null }],
  [{ output: { choices: null } }],
  [{ output: { choices: [null] } }],
  [{ output: {} }],
])('%j is ignored, because it is not a chunk', (each) => {
  expect(decode(each)).toEqual([{ type: 'finish', reason: 'stop', metadata: {} }]);
});

const output = (message: string): string =>
  `{"output":{"choices":[{"message":${message},"finish_reason":"null"}]}}`;

testMalformedChunks({
  decoder: () => new DashScopeDecoder(),
  before: output('{"content":"Hi"}'),
  chunks: [
    '{"output":{"choices":[{"mess',
    '{"output":{"choices":{"message":{}}}}',
    output('{"content":5}'),
    output('{"content":[null]}'),
    output('{"content":[{"text":["a"]}]}'),
    output('{"reasoning_content":["a"]}'),
    output('{"tool_calls":{}}'),
  ],
});
