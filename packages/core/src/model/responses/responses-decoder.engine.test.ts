import { expect, test } from 'vitest';
import type { ModelDelta } from '../chat-model.ts';
import { EventReply } from '../http/event-reply.ts';
import { ResponsesDecoder } from './responses-decoder.ts';

type Event = Readonly<Record<string, unknown>>;

const message = { type: 'message', id: 'msg_1', content: [], role: 'assistant' };
const call = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '' };

const added = (index: number, item: object): Event => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});

const done = (index: number, item: object): Event => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
});

const text = (index: number, delta: unknown): Event => ({
  type: 'response.output_text.delta',
  output_index: index,
  content_index: 0,
  delta,
});

const argumentsDelta = (index: number, delta: string): Event => ({
  type: 'response.function_call_arguments.delta',
  output_index: index,
  delta,
});

const completed = (response: object = {}): Event => ({
  type: 'response.completed',
  response: { status: 'completed', ...response },
});

function read(...events: readonly (Event | string)[]) {
  const reply = new EventReply(new ResponsesDecoder('host'));
  const deltas: ModelDelta[] = [];
  for (const event of events) {
    const data = typeof event === 'string' ? event : JSON.stringify(event);
    deltas.push(...reply.push(new TextEncoder().encode(`data: ${data}\n\n`)));
  }
  deltas.push(...reply.end({ url: 'https://host/v1' }));
  const words = deltas.map((delta) => (delta.type === 'text' ? delta.delta : '')).join('');
  const calls = deltas.filter((delta) => delta.type === 'tool-input');
  return { deltas, words, calls, finish: deltas.at(-1), error: reply.error };
}

test('a text that arrives only with the finished item is read completely', () => {
  const whole = { ...message, content: [{ type: 'output_text', text: 'Hello' }] };
  expect(read(added(0, message), done(0, whole), completed()).words).toBe('Hello');
  expect(read(added(0, message), text(0, 'He'), done(0, whole), completed()).words).toBe('Hello');
  expect(read(completed({ output: [whole] })).words).toBe('Hello');
});

test('a repeated item adds nothing', () => {
  const whole = { ...message, content: [{ type: 'output_text', text: 'Hello' }] };
  const once = [added(0, message), text(0, 'Hello'), done(0, whole)];
  expect(read(...once, ...once, completed({ output: [whole] })).words).toBe('Hello');
  const again = [added(1, message), text(1, 'Hello'), done(1, whole)];
  expect(read(...once, ...again, completed()).words).toBe('Hello');
});

test('a repeated tool call runs once', () => {
  const whole = { ...call, arguments: '{}' };
  const once = [added(0, call), argumentsDelta(0, '{}'), done(0, whole)];
  const { calls } = read(
    ...once,
    ...once,
    added(1, { ...call, id: 'fc_2' }),
    done(1, { ...whole, id: 'fc_2' }),
    completed({ output: [whole] }),
  );
  expect(new Set(calls.map(({ index }) => index))).toEqual(new Set([0]));
  expect(calls.map(({ delta }) => delta).join('')).toBe('{}');
});

test('events without a position belong to the item with their id, or to the last item', () => {
  const bare = (event: Event): Event => ({ ...event, output_index: undefined });
  const { words, calls } = read(
    bare(added(0, message)),
    bare(text(0, 'He')),
    bare(added(1, call)),
    bare(argumentsDelta(1, '{}')),
    { ...bare(text(0, 'llo')), item_id: 'msg_1' },
    completed(),
  );
  expect(words).toBe('Hello');
  expect(calls.map(({ delta }) => delta).join('')).toBe('{}');
});

test('a text whose item was not announced is read', () => {
  expect(read(text(0, 'Hello'), completed()).words).toBe('Hello');
});

test('arguments that are an object become JSON text', () => {
  const { calls } = read(
    added(0, call),
    done(0, { ...call, arguments: { city: '東京' } }),
    completed(),
  );
  expect(calls.map(({ delta }) => delta).join('')).toBe('{"city":"東京"}');
});

test('a refusal is text', () => {
  const refusal = {
    type: 'response.refusal.delta',
    output_index: 0,
    content_index: 0,
    delta: 'No.',
  };
  expect(read(added(0, message), refusal, completed()).words).toBe('No.');
});

test.for([
  ['max_output_tokens', 'length'],
  ['content_filter', 'content_filter'],
  [undefined, 'incomplete'],
] as const)(
  'a reply that is incomplete because of %s ends with the finish reason %s',
  ([reason, expected]) => {
    const response = { status: 'incomplete', incomplete_details: reason ? { reason } : null };
    const { finish } = read(text(0, 'Hel'), { type: 'response.incomplete', response });
    expect(finish).toMatchObject({ type: 'finish', reason: expected });
  },
);

test('reasoning tokens and cached tokens are counted', () => {
  const usage = {
    input_tokens: 10,
    output_tokens: 5,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens_details: { reasoning_tokens: 3 },
  };
  expect(read(completed({ usage })).finish).toMatchObject({
    usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, reasoningTokens: 3 },
  });
});

test('unknown events are skipped and counted', () => {
  const { words, finish } = read(
    { type: 'response.new_thing.delta', delta: { a: 1 } },
    text(0, 'Hi'),
    { type: 'response.web_search_call.searching' },
    {},
    completed(),
  );
  expect(words).toBe('Hi');
  expect(finish).toMatchObject({ metadata: { unknownEvents: 2 } });
});

test('citations are kept as sources of the text', () => {
  const citation = { type: 'url_citation', url: 'https://a.example', title: 'A' };
  const file = { type: 'file_citation', file_id: 'f1', filename: 'a.pdf' };
  const { deltas } = read(
    added(0, message),
    text(0, 'Hi'),
    { type: 'response.output_text.annotation.added', output_index: 0, annotation: citation },
    done(0, {
      ...message,
      content: [{ type: 'output_text', text: 'Hi', annotations: [citation, citation, file] }],
    }),
    completed(),
  );
  expect(deltas).toContainEqual({
    type: 'text',
    id: 'content-0-0',
    delta: '',
    providerMetadata: {
      responses: { index: 0 },
      sources: [
        { type: 'url', url: 'https://a.example', title: 'A' },
        { type: 'document', title: 'a.pdf', mediaType: 'text/plain', filename: 'a.pdf' },
      ],
    },
  });
});

test('an image that the built-in tool made is a file delta', () => {
  const image = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AA==' };
  const { deltas } = read(added(0, image), done(0, image), completed());
  expect(deltas).toContainEqual({ type: 'file', mediaType: 'image/png', data: 'AA==' });
  expect(JSON.stringify(deltas).match(/AA==/g)).toHaveLength(1);
});

test.for<[name: string, event: Event, code: string, retryable: boolean]>([
  [
    'an error event',
    { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down', param: null },
    'MODEL_RATE_LIMITED',
    true,
  ],
  [
    'an error event with an object',
    { type: 'error', error: { code: 'server_error', message: 'Oops' } },
    'MODEL_SERVER',
    true,
  ],
  [
    'a failed response',
    { type: 'response.failed', response: { error: { code: 'server_error', message: 'Oops' } } },
    'MODEL_SERVER',
    true,
  ],
  [
    'a conversation that is too long',
    {
      type: 'response.failed',
      response: { error: { code: 'context_length_exceeded', message: 'Too long' } },
    },
    'MODEL_CONTEXT_LENGTH',
    false,
  ],
  [
    'a failed reply in one piece',
    { object: 'response', status: 'failed', error: { message: 'Oops' } },
    'MODEL_SERVER',
    true,
  ],
  ['a delta that is not a text', text(0, { a: 1 }), 'MODEL_BAD_RESPONSE', false],
])('%s causes the same error code as in chat completions', ([, event, code, retryable]) => {
  const { error, words } = read(text(0, 'Hi'), event, completed());
  expect(words).toBe('Hi');
  expect(error).toMatchObject({ code, retryable });
});

test('the source code of a code interpreter event is not an error code', () => {
  const event = { type: 'response.code_interpreter_call_code.done', code: 'print(1)' };
  expect(read(event, text(0, 'Hi'), completed())).toMatchObject({ error: undefined, words: 'Hi' });
});

test('a reply in one piece is read, unless it is still in progress', () => {
  const output = [{ ...message, content: [{ type: 'output_text', text: 'Hello' }] }];
  const whole = { object: 'response', id: 'resp_1', model: 'm', status: 'completed', output };
  expect(read(whole)).toMatchObject({
    words: 'Hello',
    finish: { type: 'finish', metadata: { id: 'resp_1', model: 'm' } },
  });
  expect(read({ ...whole, status: 'in_progress' }).error?.code).toBe('MODEL_BAD_RESPONSE');
});

test('an event that is not JSON causes MODEL_BAD_RESPONSE', () => {
  expect(read(text(0, 'Hi'), '{"type":').error?.code).toBe('MODEL_BAD_RESPONSE');
});

test('a finished item at another position of the last event is not a new one', () => {
  const whole = { ...message, content: [{ type: 'output_text', text: 'Hello' }] };
  const { words } = read(
    added(1, message),
    text(1, 'Hello'),
    done(1, { ...whole, id: 'msg_2' }),
    completed({ output: [{ ...whole, id: 'msg_3' }] }),
  );
  expect(words).toBe('Hello');
});

test('a text that comes only with its own last event is read', () => {
  const whole = {
    type: 'response.output_text.done',
    output_index: 0,
    content_index: 0,
    text: 'Hi',
  };
  expect(read(added(0, message), whole, done(0, message), completed()).words).toBe('Hi');
});

test('finished items without a position follow each other', () => {
  const bare = { type: 'response.output_item.done' };
  const first = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] };
  const second = { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] };
  const { words } = read({ ...bare, item: first }, { ...bare, item: second }, completed());
  expect(words).toBe('Hello');
});

test('an incomplete reply is incomplete even if its status is missing', () => {
  const { finish } = read(text(0, 'Hel'), { type: 'response.incomplete', response: {} });
  expect(finish).toMatchObject({ reason: 'incomplete' });
});
