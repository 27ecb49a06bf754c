import { expect, test } from 'vitest';
import goldenText from '@test/fixtures/golden/openai-replies.json?raw';
import { withOrigin } from '../../message/provider-metadata.ts';
import type { ModelDelta } from '../chat-model.ts';
import { EventReply } from '../http/event-reply.ts';
import { OpenAiDecoder } from './openai-decoder.ts';
import { goldenForm, joined } from '@test/support/model-outcome.ts';

const recorded = import.meta.glob<string>(
  '../../../../../test/fixtures/provider-streams/*.{txt,sse}',
  {
    query: '?raw',
    import: 'default',
    eager: true,
  },
);

/** The expected replies. Another program made them from the recorded streams. */
const golden = JSON.parse(goldenText) as Record<string, unknown>;

const streams = Object.entries(recorded).map(([path, text]): [name: string, bytes: Uint8Array] => [
  path.replace(/^.*\//, '').replace(/\.(chunks\.txt|sse)$/, ''),
  new TextEncoder().encode(
    path.endsWith('.sse')
      ? text
      : text.replace(/^(?=.)/gm, 'data: ').replaceAll('\n', '\n\n') + '\n\ndata: [DONE]\n\n',
  ),
]);

function replay(bytes: Uint8Array, size: number): Readonly<Record<string, unknown>> {
  const reply = new EventReply(new OpenAiDecoder());
  const deltas: ModelDelta[] = [];
  for (let start = 0; start < bytes.length; start += size)
    deltas.push(...reply.push(bytes.subarray(start, start + size)));
  deltas.push(...reply.end({ url: 'https://host/v1' }));
  expect(reply.error).toBeUndefined();
  return goldenForm(joined(deltas));
}

const decode = (...chunks: readonly unknown[]): ModelDelta[] => {
  const decoder = new OpenAiDecoder('models.test');
  const deltas: ModelDelta[] = [];
  for (const chunk of chunks) decoder.decode(chunk, deltas);
  decoder.flush(deltas);
  return [...deltas, decoder.end()];
};

const delta = (fields: unknown): unknown => ({ choices: [{ index: 0, delta: fields }] });

const callsOf = (...fragments: readonly (readonly unknown[])[]): unknown =>
  joined(decode(...fragments.map((toolCalls) => delta({ tool_calls: toolCalls })))).calls;

test('each recorded stream has an expected reply', () => {
  expect(Object.keys(golden).sort()).toEqual(streams.map(([name]) => name).sort());
});

test.each(streams)(
  'the recorded stream %s gives the expected reply, in one piece and in small pieces',
  (name, bytes) => {
    for (const size of [bytes.length, 1, 100]) expect(replay(bytes, size)).toEqual(golden[name]);
  },
);

test('two tool calls with the same index are separated by their ids', () => {
  const call = (id: string, input: string) => [
    { index: 0, id, type: 'function', function: { name: 'f', arguments: input } },
  ];
  expect(callsOf(call('a', '{}'), call('b', '{}'))).toEqual([
    { id: 'a', name: 'f', input: '{}' },
    { id: 'b', name: 'f', input: '{}' },
  ]);
});

test('fragments of two tool calls with the same index belong to the tool call with their id', () => {
  const fragment = (id: string, input: string, name?: string) => [
    { index: 0, id, function: { arguments: input, ...(name && { name }) } },
  ];
  expect(
    callsOf(
      fragment('a', '{"x"', 'f'),
      fragment('b', '{"y"', 'g'),
      fragment('a', ':1}'),
      fragment('b', ':2}'),
    ),
  ).toEqual([
    { id: 'a', name: 'f', input: '{"x":1}' },
    { id: 'b', name: 'g', input: '{"y":2}' },
  ]);
});

test('tool calls without an index are separated by id, and a fragment without both belongs to the last tool call', () => {
  expect(
    callsOf([
      { id: 'a', function: { name: 'f', arguments: '{"x":' } },
      { function: { arguments: '1}' } },
      { id: 'b', function: { name: 'f', arguments: '{}' } },
    ]),
  ).toEqual([
    { id: 'a', name: 'f', input: '{"x":1}' },
    { id: 'b', name: 'f', input: '{}' },
  ]);
});

test('complete tool calls without index and id are separated by name', () => {
  const call = (name: string) => ({ function: { name, arguments: '{}' } });
  expect(callsOf([call('f'), call('g')], [call('g')])).toEqual([
    { id: '', name: 'f', input: '{}' },
    { id: '', name: 'g', input: '{}' },
    { id: '', name: 'g', input: '{}' },
  ]);
});

test('an id and a name that each fragment repeats are reported once', () => {
  const fragment = (input: string) => [
    { index: 0, id: 'a', function: { name: 'f', arguments: input } },
  ];
  expect(callsOf(fragment('{"x"'), fragment(':'), fragment('1}'))).toEqual([
    { id: 'a', name: 'f', input: '{"x":1}' },
  ]);
});

test('a repeated name without an id continues the tool call while its input is incomplete', () => {
  const fragment = (input: string) => [{ index: 0, function: { name: 'f', arguments: input } }];
  expect(callsOf(fragment('{"x":{}'), fragment('}'), fragment('{}'))).toEqual([
    { id: '', name: 'f', input: '{"x":{}}' },
    { id: '', name: 'f', input: '{}' },
  ]);
});

test('an id that arrives late belongs to the open tool call', () => {
  expect(
    callsOf(
      [{ index: 0, id: '', function: { name: 'f', arguments: '{' } }],
      [{ index: 0, id: 'late', function: { name: '', arguments: '}' } }],
    ),
  ).toEqual([{ id: 'late', name: 'f', input: '{}' }]);
});

test('tool calls are numbered in the order in which they begin, whatever their indices are', () => {
  const fragment = (index: number, input: string, id?: string) => ({
    index,
    ...(id && { id }),
    function: { arguments: input, ...(id && { name: id }) },
  });
  const deltas = decode(
    delta({ tool_calls: [fragment(1, '{', 'a'), fragment(7, '{', 'b')] }),
    delta({ tool_calls: [fragment(1, '}'), fragment(7, '}')] }),
  );
  expect(deltas).toMatchObject([
    { index: 0, id: 'a', delta: '{' },
    { index: 1, id: 'b', delta: '{' },
    { index: 0, delta: '}' },
    { index: 1, delta: '}' },
    { type: 'finish', reason: 'tool_calls' },
  ]);
});

test('arguments may be an object, and a thought signature is kept with its tool call', () => {
  const extra = { google: { thought_signature: 's' } };
  expect(
    decode(
      delta({
        tool_calls: [
          { id: 'a', extra_content: extra, function: { name: 'f', arguments: { x: 1 } } },
        ],
      }),
    )[0],
  ).toEqual({
    type: 'tool-input',
    index: 0,
    id: 'a',
    name: 'f',
    providerMetadata: withOrigin('models.test', { extra_content: extra }),
    delta: '{"x":1}',
  });
});

test('thinking, text and tool calls become separate blocks, in order', () => {
  const deltas = decode(
    delta({ reasoning: 'hm', content: '' }),
    delta({ reasoning_content: 'm', reasoning: 'm' }),
    delta({ content: 'a' }),
    delta({ content: 'b' }),
    delta({
      tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"x":1}' } }],
      content: '',
    }),
    delta({ content: 'c' }),
  );
  expect(deltas.map((each) => ('id' in each ? each.id : each.type))).toEqual([
    'thinking-0',
    'thinking-0',
    'text-1',
    'text-1',
    'c',
    'text-2',
    'finish',
  ]);
});

test('content in parts is read, as Mistral sends it', () => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'so' }] },
    { type: 'text', text: 'yes' },
  ];
  expect(joined(decode(delta({ content })))).toMatchObject({ thinking: 'so', text: 'yes' });
});

test('a refusal is text', () => {
  expect(joined(decode(delta({ refusal: 'I cannot.', content: null })))).toMatchObject({
    text: 'I cannot.',
  });
});

test('a reply in one piece is read like a chunk', () => {
  const message = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
  };
  expect(
    goldenForm(
      joined(
        decode({
          id: 'x',
          model: 'm',
          choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
        }),
      ),
    ),
  ).toEqual({
    text: '',
    thinking: '',
    calls: [{ id: 'a', name: 'f', input: '{}' }],
    reason: 'tool_calls',
    model: 'm',
  });
});

test('usage is found in each place, and reasoning tokens that only the total includes count as output', () => {
  const usageOf = (chunk: unknown): unknown => {
    const end = decode(chunk).at(-1);
    return end?.type === 'finish' && end.usage;
  };
  const usage = { prompt_tokens: 5, completion_tokens: 2 };
  expect(usageOf({ usage })).toEqual({ inputTokens: 5, outputTokens: 2 });
  expect(usageOf({ choices: [{ delta: {}, usage }], usage: null })).toEqual({
    inputTokens: 5,
    outputTokens: 2,
  });
  expect(usageOf({ choices: [], x_groq: { usage } })).toEqual({ inputTokens: 5, outputTokens: 2 });
  expect(usageOf({ usage: { ...usage, total_tokens: 10, prompt_cache_hit_tokens: 4 } })).toEqual({
    inputTokens: 5,
    outputTokens: 5,
    cachedInputTokens: 4,
  });
});

test('later usage without counts or with zeros leaves the earlier counts', () => {
  const details = { completion_tokens_details: { reasoning_tokens: 1 } };
  const usage = { prompt_tokens: 5, completion_tokens: 2, ...details };
  const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const noDetails = { completion_tokens_details: { reasoning_tokens: 0 } };
  for (const last of [{}, null, zeros, { ...zeros, ...noDetails }, { prompt_tokens: null }])
    expect(decode({ usage }, { choices: [], usage: last }).at(-1)).toMatchObject({
      usage: { inputTokens: 5, outputTokens: 2, reasoningTokens: 1 },
    });
  expect(
    decode({ usage: { prompt_tokens: 5 } }, { usage: { completion_tokens: 2, total_tokens: 7 } }),
  ).toMatchObject([{ usage: { inputTokens: 5, outputTokens: 2 } }]);
  expect(decode({ usage: {} })).toEqual([{ type: 'finish', reason: 'stop', metadata: {} }]);
});

test('counts as text become numbers, and other values are no counts', () => {
  const usage = { prompt_tokens: '10', completion_tokens: '5', prompt_tokens_details: 'none' };
  expect(decode({ usage }).at(-1)).toMatchObject({
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  expect(
    decode({ usage: { prompt_tokens: 'many', completion_tokens: -1 } }).at(-1),
  ).not.toHaveProperty('usage');
});

test('only the first of several choices is read', () => {
  const chunk = (index: number, content: string) => ({ choices: [{ index, delta: { content } }] });
  expect(joined(decode(chunk(0, 'a'), chunk(1, 'b'), chunk(0, 'c')))).toMatchObject({
    text: 'ac',
  });
});

test.each([
  [null],
  ['text'],
  [{}],
  [{ choices: null }],
  [{ choices: [null] }],
  [{ choices: [{}] }],
  [{ choices: [{ delta: { tool_calls: [null] } }] }],
])('%j is ignored, because it is not a chunk', (chunk) => {
  expect(decode(chunk)).toEqual([{ type: 'finish', reason: 'stop', metadata: {} }]);
});
