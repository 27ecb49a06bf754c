import { expect, test } from 'vitest';
import { ReplyAssembler } from '../reply/reply-assembler.ts';
import type { ModelDelta } from '../chat-model.ts';
import { EventReply } from '../http/event-reply.ts';
import { ResponsesDecoder } from './responses-decoder.ts';

type Fields = Readonly<Record<string, unknown>>;

const created = (id: string): Fields => ({ type: 'response.created', response: { id } });

const text = (delta: string): Fields => ({
  type: 'response.output_text.delta',
  item_id: 'msg_1',
  output_index: 0,
  content_index: 0,
  delta,
});

const completed = (...output: readonly Fields[]): Fields => ({
  type: 'response.completed',
  response: { status: 'completed', output },
});

const message = (words: string): Fields => ({
  type: 'message',
  id: 'msg_1',
  content: [{ type: 'output_text', text: words }],
});

/** Returns a function call with this number as part of its ids, its name and its arguments. */
const call = (name: string, id: number, args: string): Fields => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: `c${id}`,
  name,
  arguments: args,
});

const added = (item: Fields, output_index: number): Fields => ({
  type: 'response.output_item.added',
  output_index,
  item,
});

const done = (item: Fields, output_index: number): Fields => ({
  type: 'response.output_item.done',
  output_index,
  item,
});

const argumentsDelta = (id: number, output_index: number, delta: string): Fields => ({
  type: 'response.function_call_arguments.delta',
  item_id: `fc_${id}`,
  output_index,
  delta,
});

function read(...events: readonly (Fields | '[DONE]')[]) {
  const reply = new EventReply(new ResponsesDecoder('host'));
  const deltas: ModelDelta[] = [];
  for (const event of events) {
    const data = event === '[DONE]' ? event : JSON.stringify(event);
    deltas.push(...reply.push(new TextEncoder().encode(`data: ${data}\n\n`)));
  }
  deltas.push(...reply.end({ url: 'https://host/v1' }));
  const assembler = new ReplyAssembler({ messageId: 'm', toolUseId: (given) => given || 'own' });
  const start = deltas.findLastIndex(({ type }) => type === 'reset') + 1;
  for (const delta of deltas.slice(start)) assembler.add(delta);
  return { deltas, error: reply.error, content: assembler.content({ partial: false }) };
}

const callsOf = (...events: readonly Fields[]): readonly unknown[] =>
  read(...events).content.flatMap((block) =>
    block.type === 'tool_use' ? [[block.id, block.name, block.input]] : [],
  );

test('a call whose call id changes in the middle of the stream runs once', () => {
  const events = [
    added(call('f', 1, ''), 0),
    argumentsDelta(2, 0, '{"x":'),
    argumentsDelta(3, 0, '1}'),
    done(call('f', 4, '{"x":1}'), 0),
    added(call('f', 5, ''), 1),
    argumentsDelta(6, 1, '{"x":2}'),
    done(call('f', 7, '{"x":2}'), 1),
  ];
  const expected = [
    ['c1', 'f', { x: 1 }],
    ['c5', 'f', { x: 2 }],
  ];
  expect(callsOf(...events, completed())).toEqual(expected);
  const list = [call('f', 8, '{"x":1}'), call('f', 9, '{"x":2}')];
  expect(callsOf(...events, completed(...list))).toEqual(expected);
});

test('a call that only its announcement describes has the arguments of the announcement', () => {
  const announced = added(call('f', 1, '{"x":1}'), 0);
  const expected = [['c1', 'f', { x: 1 }]];
  expect(callsOf(announced, completed())).toEqual(expected);
  expect(callsOf(announced, argumentsDelta(1, 0, '{"x":1}'), completed())).toEqual(expected);
  expect(callsOf(announced, done(call('f', 1, '{"x":1}'), 0), completed())).toEqual(expected);
});

test('an unannounced call beside an open one with other arguments is a call of its own', () => {
  const events = [
    added(call('f', 1, ''), 0),
    argumentsDelta(1, 0, '{"x":1}'),
    done(call('f', 2, '{"x":2}'), 0),
    done(call('f', 1, '{"x":1}'), 0),
    completed(),
  ];
  expect(callsOf(...events)).toEqual([
    ['c1', 'f', { x: 1 }],
    ['c2', 'f', { x: 2 }],
  ]);
});

test('a response that begins again in the middle of the stream replaces its first part', () => {
  const whole = [text('One.'), completed(message('One.'))];
  for (const id of ['resp_1', 'resp_2']) {
    const { deltas, content } = read(created('resp_1'), text('On'), created(id), ...whole);
    expect(deltas).toContainEqual({ type: 'reset', reason: 'restart' });
    expect(content).toMatchObject([{ type: 'text', text: 'One.' }]);
  }
});

test('a repeated first event before any item changes nothing', () => {
  const { deltas } = read(created('resp_1'), created('resp_1'), text('One.'), completed());
  expect(deltas.map(({ type }) => type)).not.toContain('reset');
});

test('`[DONE]` without the last event of the response is a reply that ended early', () => {
  const error = { code: 'MODEL_BAD_RESPONSE', retryable: true };
  expect(read('[DONE]').error).toMatchObject(error);
  expect(read(created('resp_1'), text('On'), '[DONE]').error).toMatchObject(error);
  const { error: none, deltas } = read(created('resp_1'), text('One.'), completed(), '[DONE]');
  expect(none).toBeUndefined();
  expect(deltas.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
});

test('a response that gives tool calls as its reason and has none is an error', () => {
  const response = { id: 'resp_1', incomplete_details: { reason: 'tool_calls' } };
  const end = { type: 'response.incomplete', response };
  expect(read(text('One.'), end).error).toMatchObject({ code: 'MODEL_SERVER', retryable: true });
  expect(read(done(call('look', 1, '{}'), 0), end).error).toBeUndefined();
});

test('the last event of some gateways, `response.done`, ends a reply', () => {
  const end = { type: 'response.done', response: { id: 'resp_1', status: 'completed' } };
  expect(read(text('One.'), end)).toMatchObject({
    error: undefined,
    content: [{ type: 'text', text: 'One.' }],
  });
});

test.for([
  ['response.reasoning_summary_text.done', { text: 'Hm.' }],
  ['response.reasoning_text.done', { text: 'Hm.' }],
  ['response.reasoning_summary_part.done', { part: { type: 'summary_text', text: 'Hm.' } }],
] as const)('thinking that comes only with %s is read', ([type, fields]) => {
  const event = { type, item_id: 'rs_1', output_index: 0, ...fields };
  const item = { type: 'reasoning', id: 'rs_1', summary: [] };
  for (const end of [[], [done(item, 0)]])
    expect(read(added(item, 0), event, ...end, completed()).content).toMatchObject([
      { type: 'thinking', thinking: 'Hm.' },
    ]);
});

test.for([
  [{ type: 'output_text', text: 'Hello' }, 'Hello'],
  [{ type: 'refusal', refusal: 'No.' }, 'No.'],
] as const)('a text that comes only with its part is read: %o', ([part, words]) => {
  const event = {
    type: 'response.content_part.done',
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    part,
  };
  expect(read(event, completed()).content).toMatchObject([{ type: 'text', text: words }]);
  expect(read(text(words), event, event, completed()).content).toMatchObject([
    { type: 'text', text: words },
  ]);
});

test('several parts whose events have no index are not repeated by the finished item', () => {
  const parts = (...texts: readonly string[]): readonly Fields[] =>
    texts.map((words) => ({ type: 'output_text', text: words }));
  const delta = (type: string, words: string): Fields => ({
    type: `response.${type}.delta`,
    output_index: type === 'output_text' ? 1 : 0,
    delta: words,
  });
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: parts('A', 'B') };
  const { content } = read(
    delta('reasoning_summary_text', 'A'),
    delta('reasoning_summary_text', 'B'),
    done(reasoning, 0),
    delta('output_text', 'One.'),
    delta('output_text', 'Two.'),
    done({ type: 'message', id: 'msg_1', content: parts('One.', 'Two.') }, 1),
    completed(),
  );
  expect(content).toMatchObject([
    { type: 'thinking', thinking: 'AB' },
    { type: 'text', text: 'One.Two.' },
  ]);
});

test.each([
  ['has no name', [added(call('', 1, ''), 0), argumentsDelta(1, 0, '{"x":1}')]],
  [
    'gets other arguments at its end',
    [argumentsDelta(1, 0, '{"x"'), done(call('f', 1, '{"y":2}'), 0)],
  ],
  [
    'shares its ids with another one',
    [done(call('f', 1, '{"x":1}'), 0), done(call('f', 1, '{"y":2}'), 1)],
  ],
])('a reply is refused if a call %s', (_case, events) => {
  const { error } = read(...events, completed());
  expect(error).toMatchObject({ code: 'MODEL_BAD_RESPONSE', retryable: true });
});

test('arguments that the end of a reply writes in another way are no other arguments', () => {
  const events = [
    argumentsDelta(1, 0, '{"x":1}'),
    done(call('f', 1, '{ "x": 1 }'), 0),
    completed(),
  ];
  expect(callsOf(...events)).toEqual([['c1', 'f', { x: 1 }]]);
});
