import { expect, test } from 'vitest';
import { ReplyAssembler } from '../reply/reply-assembler.ts';
import type { ContentBlock } from '../../message/msg.ts';
import { EventReply } from '../http/event-reply.ts';
import { ResponsesDecoder } from './responses-decoder.ts';

type Fields = Readonly<Record<string, unknown>>;

const added = (item: Fields, output_index?: number): Fields => ({
  type: 'response.output_item.added',
  output_index,
  item,
});

const done = (item: Fields, output_index?: number): Fields => ({
  type: 'response.output_item.done',
  output_index,
  item,
});

const argumentsDelta = (delta: string, item_id?: string, output_index?: number): Fields => ({
  type: 'response.function_call_arguments.delta',
  item_id,
  output_index,
  delta,
});

const textDelta = (delta: string, item_id?: string, output_index?: number): Fields => ({
  type: 'response.output_text.delta',
  item_id,
  output_index,
  content_index: 0,
  delta,
});

const completed = (...output: readonly Fields[]): Fields => ({
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', output },
});

const call = (number: number, more: Fields = {}): Fields => ({
  type: 'function_call',
  id: `fc_${number}`,
  call_id: `c${number}`,
  name: `f${number}`,
  arguments: '',
  ...more,
});

const message = (id: string, text = ''): Fields => ({
  type: 'message',
  id,
  role: 'assistant',
  content: text ? [{ type: 'output_text', text, annotations: [] }] : [],
});

/** Returns the blocks of the reply that has these events. */
function contentOf(...events: readonly Fields[]): readonly ContentBlock[] {
  const reply = new EventReply(new ResponsesDecoder('host'));
  const assembler = new ReplyAssembler({ messageId: 'm', toolUseId: (given) => given || 'own' });
  const deltas = events.flatMap((event) =>
    reply.push(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`)),
  );
  for (const delta of [...deltas, ...reply.end({ url: 'https://host/v1' })]) assembler.add(delta);
  expect(reply.error).toBeUndefined();
  return assembler.content({ partial: false });
}

const callsOf = (...events: readonly Fields[]): readonly unknown[] =>
  contentOf(...events).flatMap((block) =>
    block.type === 'tool_use' ? [[block.id, block.name, block.input]] : [],
  );

const textOf = (...events: readonly Fields[]): string =>
  contentOf(...events)
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('|');

const thinkingItems = (...events: readonly Fields[]): readonly unknown[] =>
  contentOf(...events).flatMap((block) =>
    block.type === 'thinking'
      ? [(block.providerMetadata!['responses'] as { item?: unknown }).item]
      : [],
  );

test('encrypted reasoning that comes only at the end of the reply is kept', () => {
  const bare = { type: 'reasoning', id: 'rs_1', summary: [] };
  const whole = { ...bare, encrypted_content: 'SECRET' };
  const item = { type: 'reasoning', id: 'rs_1', encrypted_content: 'SECRET' };
  expect(thinkingItems(added(bare, 0), done(whole, 0), completed())).toEqual([item]);
  expect(thinkingItems(added(bare, 0), done(bare, 0), completed(whole))).toEqual([item]);
  expect(thinkingItems(added(bare, 0), completed(whole))).toEqual([item]);
  expect(thinkingItems(completed(whole))).toEqual([item]);
  const summary = [{ type: 'summary_text', text: 'Hm' }];
  expect(
    thinkingItems(
      added(bare, 0),
      done({ ...bare, summary, encrypted_content: null }, 0),
      completed({ ...whole, id: 'rotated', summary }),
    ),
  ).toEqual([item]);
});

test.for<[name: string, first: Fields, finished: Fields, last: Fields[]]>([
  ['with the finished item', { call_id: '', name: '' }, {}, []],
  ['with the finished item, and not as null', { call_id: null, name: null }, {}, []],
  ['at the end of the reply', { call_id: '', name: '' }, { call_id: '', name: '' }, [call(1)]],
  [
    'at the end of the reply, with other ids',
    { call_id: '', id: 'a' },
    { call_id: '', id: 'b' },
    [call(1)],
  ],
])('a call id and a name that come only %s are read', ([, first, finished, last]) => {
  const end = last.map((item) => ({ ...item, arguments: '{"a":1}' }));
  expect(
    callsOf(
      added(call(1, first), 0),
      argumentsDelta('{"a"', 'fc_1', 0),
      argumentsDelta(':1}', 'fc_1', 0),
      done(call(1, { ...finished, arguments: '{"a":1}' }), 0),
      completed(...end),
    ),
  ).toEqual([['c1', 'f1', { a: 1 }]]);
});

test('a call without a call id has the id of its item', () => {
  const item = call(1, { call_id: undefined, arguments: '{}' });
  expect(callsOf(added(item, 0), done(item, 0), completed())).toEqual([['fc_1', 'f1', {}]]);
});

test('calls whose ids come late keep their own arguments', () => {
  const events = [1, 2].flatMap((number) => [
    added(call(number, { call_id: '' }), number),
    argumentsDelta(`{"a":${number}}`, `fc_${number}`, number),
  ]);
  const ends = [1, 2].map((number) => done(call(number, { arguments: `{"a":${number}}` }), number));
  expect(callsOf(...events, ...ends.toReversed(), completed())).toEqual([
    ['c2', 'f2', { a: 2 }],
    ['c1', 'f1', { a: 1 }],
  ]);
});

test('a text that comes only in the list at the end is read', () => {
  const whole = completed(message('msg_1', 'Hello'));
  expect(textOf(added(message('msg_1'), 0), done(message('msg_1'), 0), whole)).toBe('Hello');
  expect(textOf(added(message('other'), 0), done(message('other'), 0), whole)).toBe('Hello');
});

const inTurn = (outputIndex?: number): readonly Fields[] => [
  added(message('msg_1'), outputIndex),
  textDelta('He', 'msg_1', outputIndex),
  textDelta('llo', 'msg_1', outputIndex),
  done(message('msg_1', 'Hello'), outputIndex),
  ...[1, 2, 3].flatMap((number) => [
    added(call(number), outputIndex),
    argumentsDelta(`{"a":${number}}`, `fc_${number}`, outputIndex),
    done(call(number, { arguments: `{"a":${number}}` }), outputIndex),
  ]),
];

const inParallel = (outputIndex?: number): readonly Fields[] => [
  added(message('msg_1'), outputIndex),
  ...[1, 2, 3].map((number) => added(call(number), outputIndex)),
  textDelta('He', 'msg_1', outputIndex),
  ...[1, 2, 3].map((number) => argumentsDelta('{"a":', `fc_${number}`, outputIndex)),
  textDelta('llo', 'msg_1', outputIndex),
  ...[3, 2, 1].map((number) => argumentsDelta(`${number}}`, `fc_${number}`, outputIndex)),
  ...[2, 1, 3].map((number) => done(call(number, { arguments: `{"a":${number}}` }), outputIndex)),
  done(message('msg_1', 'Hello'), outputIndex),
];

const without =
  (field: string) =>
  (event: Fields): Fields => ({ ...event, [field]: undefined });
const withoutItemId = (event: Fields): Fields =>
  event['item'] ? { ...event, item: { ...(event['item'] as Fields), id: undefined } } : event;

test.for<[name: string, events: readonly Fields[]]>([
  ['position 0', inTurn(0)],
  ['position 0 and are sent in parallel', inParallel(0)],
  ['no position', inTurn()],
  ['no position and are sent in parallel', inParallel()],
  ['position 0 and no ids in their deltas', inTurn(0).map(without('item_id'))],
  ['position 0 and no item ids', inTurn(0).map(without('item_id')).map(withoutItemId)],
])('items that all have %s are read', ([, events]) => {
  const output = [1, 2, 3].map((number) => call(number, { arguments: `{"a":${number}}` }));
  for (const end of [completed(), completed(message('msg_1', 'Hello'), ...output)]) {
    expect(textOf(...events, end)).toBe('Hello');
    expect(callsOf(...events, end)).toEqual([
      ['c1', 'f1', { a: 1 }],
      ['c2', 'f2', { a: 2 }],
      ['c3', 'f3', { a: 3 }],
    ]);
  }
});

test('finished items that all have position 0 and were not announced are read', () => {
  const items = [1, 2].map((number) => call(number, { arguments: '{}' }));
  const events = [done(message('msg_1', 'Hello'), 0), ...items.map((item) => done(item, 0))];
  expect(textOf(...events, completed())).toBe('Hello');
  expect(callsOf(...events, completed())).toHaveLength(2);
});

test('two messages that both have position 0 are read', () => {
  const events = ['One', 'Two'].flatMap((text) => [
    added(message(text), 0),
    textDelta(text, text, 0),
    done(message(text, text), 0),
  ]);
  expect(textOf(...events, completed())).toBe('One|Two');
});

test('ids that change in each event do no harm, also with calls and a list at the end', () => {
  let ids = 0;
  const rotated = (event: Fields): Fields => ({
    ...event,
    ...(event['item_id'] ? { item_id: `x${ids++}` } : {}),
    ...(event['item'] ? { item: { ...(event['item'] as Fields), id: `x${ids++}` } } : {}),
  });
  const events = [
    added(message('msg_1'), 0),
    textDelta('Hel', 'msg_1', 0),
    textDelta('lo', 'msg_1', 0),
    done(message('msg_1', 'Hello'), 0),
    ...[1, 2].map((number) => added(call(number), number)),
    ...[2, 1].map((number) => argumentsDelta('{"a":', `fc_${number}`, number)),
    ...[1, 2].map((number) => argumentsDelta(`${number}}`, `fc_${number}`, number)),
    ...[1, 2].map((number) => done(call(number, { arguments: `{"a":${number}}` }), number)),
  ].map(rotated);
  const output = [1, 2].map((number) => call(number, { id: 'y', arguments: `{"a":${number}}` }));
  const ends = [
    completed(),
    completed(message('z', 'Hello'), ...output),
    completed(...output, message('z', 'Hello ')),
    completed(...output.map((item, index) => ({ ...item, call_id: `other${index}` }))),
  ];
  for (const end of ends) {
    expect(textOf(...events, end)).toBe('Hello');
    expect(callsOf(...events, end)).toEqual([
      ['c1', 'f1', { a: 1 }],
      ['c2', 'f2', { a: 2 }],
    ]);
  }
});

test('a call that only the list at the end has is read', () => {
  const first = call(1, { arguments: '{"a":1}' });
  const second = call(2, { arguments: '{"a":2}' });
  expect(callsOf(added(call(1), 0), done(first, 0), completed(first, second))).toHaveLength(2);
  expect(callsOf(added(call(1), 0), done(first, 0), completed(second, first))).toHaveLength(2);
});

test('items of different types with the same id are read', () => {
  const id = 'resp_1';
  expect(
    textOf(
      added({ type: 'reasoning', id, summary: [] }, 0),
      done({ type: 'reasoning', id, summary: [{ type: 'summary_text', text: 'Hm' }] }, 0),
      added(message(id), 1),
      textDelta('Hello', id, 1),
      done(message(id, 'Hello'), 1),
      completed(),
    ),
  ).toBe('Hello');
  const calls = [1, 2].map((number) => call(number, { id, arguments: `{"a":${number}}` }));
  expect(
    callsOf(
      ...calls.map((item, outputIndex) => added({ ...item, arguments: '' }, outputIndex)),
      argumentsDelta('{"a":2}', id, 1),
      argumentsDelta('{"a":1}', id, 0),
      ...calls.map((item, outputIndex) => done(item, outputIndex)),
      completed(),
    ),
  ).toEqual([
    ['c1', 'f1', { a: 1 }],
    ['c2', 'f2', { a: 2 }],
  ]);
});

test('sources of a text whose item the server did not finish are kept', () => {
  const annotation = { type: 'url_citation', url: 'https://a.example' };
  const [text] = contentOf(
    added(message('msg_1'), 0),
    textDelta('Hel', 'msg_1', 0),
    { type: 'response.output_text.annotation.added', output_index: 0, annotation },
    {
      type: 'response.incomplete',
      response: { incomplete_details: { reason: 'max_output_tokens' } },
    },
  );
  expect(text).toMatchObject({
    text: 'Hel',
    providerMetadata: { sources: [{ type: 'url', url: 'https://a.example' }] },
  });
});

test('many items without a position take linear time', () => {
  const numbers = Array.from({ length: 5000 }, (_, index) => index);
  const events = numbers.flatMap((number) => [
    added(call(number, { id: undefined }), 0),
    argumentsDelta('{}', undefined, 0),
    done(call(number, { id: undefined, arguments: '{}' }), 0),
  ]);
  expect(callsOf(...events, completed())).toHaveLength(5000);
});
