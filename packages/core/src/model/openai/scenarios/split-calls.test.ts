import { expect, test } from 'vitest';
import { randomJson } from '@test/random-json.ts';
import { randomOf } from '@test/random-of.ts';
import { seeds } from '@test/test-extent.ts';
import { joined } from '@test/support/model-outcome.ts';
import { DashScopeDecoder } from '../../dashscope/dashscope-decoder.ts';
import { EventReply } from '../../http/event-reply.ts';
import { OpenAiDecoder } from '../openai-decoder.ts';

/** Ways in which servers number, identify, name and split the fragments of tool calls. */
const ways = {
  index: ['own', 'from 1', 'one for all', 'none', 'other in the tail', 'of the tool'],
  id: ['first', 'each', 'new', 'none', 'late', 'one for all', 'other in the tail'],
  name: ['first', 'each', 'empty in the tail', 'split', 'last'],
  input: [
    'whole',
    'object',
    'pieces',
    'pieces after the head',
    'whole, then repeated',
    'all so far',
    'after empty arguments',
  ],
  order: ['in turn', 'interleaved'],
} as const;

type Way = { readonly [K in keyof typeof ways]: (typeof ways)[K][number] };

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

interface WireCall {
  index?: number;
  id?: string;
  function: { name?: string; arguments?: unknown };
}

const allWays: readonly Way[] = ways.index
  .flatMap((index) => ways.id.map((id) => ({ index, id })))
  .flatMap((way) => ways.name.map((name) => ({ ...way, name })))
  .flatMap((way) => ways.input.map((input) => ({ ...way, input })))
  .flatMap((way) => ways.order.map((order) => ({ ...way, order })))
  .filter(isReadable);

/** Returns whether the fragments say to which call they belong. Otherwise no client can know it. */
function isReadable({ index, id, name, input, order }: Way): boolean {
  const hasNoIndex = index === 'none' || index === 'one for all';
  // A name at another index looks like another call.
  const hasOtherIndex = index === 'other in the tail' || index === 'of the tool';
  if (hasOtherIndex && name !== 'first' && name !== 'empty in the tail') return false;
  // With a name, what follows empty arguments looks like another call.
  const isNamedLater = name !== 'first' && name !== 'empty in the tail';
  if (input === 'after empty arguments' && isNamedLater) return false;
  if (id === 'one for all' && order === 'interleaved') return false;
  // Arguments before the name look like a repetition of the call before them.
  if (name === 'last' && hasNoIndex && id !== 'each') return false;
  if (order === 'interleaved' && hasOtherIndex) return false;
  if (order === 'interleaved') return !hasNoIndex || id === 'each';
  // Without an index and an id, a repeated call looks like another call.
  return !(hasNoIndex && id === 'none' && name === 'each' && input === 'whole, then repeated');
}

/** Returns whether a call without arguments differs from the head of the next call. */
function canBeEmpty({ index, id, name }: Way): boolean {
  const hasId = id === 'first' || id === 'each';
  const hasIndex = index === 'own' || index === 'from 1';
  const hasOtherIndex = index === 'other in the tail' || index === 'of the tool';
  if (name === 'last' || id === 'one for all' || hasOtherIndex) return false;
  return hasId || hasIndex;
}

/** Ways whose replies have one reading. Other ways may be refused, but never misread. */
function isClear({ index, id, name, input, order }: Way): boolean {
  const hasIndex = index === 'own' || index === 'from 1';
  const hasIds = id === 'first' || id === 'each';
  const isInTurn = order === 'in turn';
  if (input === 'all so far' || input === 'after empty arguments') return false;
  const hasEmptyHead = input === 'pieces after the head' || input === 'whole, then repeated';
  if (name === 'split') return hasIndex && hasIds && isInTurn && input === 'pieces after the head';
  if (name === 'last') return hasIndex && hasIds && input.startsWith('pieces');
  const hasOtherIds = id === 'new' || id === 'other in the tail';
  if (hasOtherIds && input === 'whole, then repeated') return false;
  if (hasIndex && name === 'each' && hasEmptyHead) return !hasOtherIds && id !== 'none';
  if (hasIndex) return id !== 'one for all';
  return index !== 'of the tool' && hasIds && isInTurn && name !== 'each' && !hasEmptyHead;
}

function randomCalls(random: () => number): readonly Call[] {
  const count = 1 + Math.floor(random() * 4);
  return Array.from({ length: count }, (_unused, position) => ({
    id: `call_${position}`,
    name: ['weather', 'now', 'pay', 'search_files'][Math.floor(random() * 4)]!,
    input: randomInput(random),
  }));
}

function randomInput(random: () => number): string {
  const kind = random();
  if (kind < 0.1) return '';
  if (kind < 0.2) return '{}';
  const texts = ['}{', '"\\', '天气 😀', '{"a":{"a":1}}', ''];
  const value = { a: { a: randomJson(random) }, text: texts[Math.floor(random() * texts.length)] };
  return JSON.stringify(value, undefined, random() < 0.3 ? 1 : 0);
}

/** Cuts a text at random places. */
function pieces(text: string, random: () => number): readonly string[] {
  const parts: string[] = [];
  for (let rest = text; rest;) {
    const length = 1 + Math.floor(random() ** 2 * 20);
    parts.push(rest.slice(0, length));
    rest = rest.slice(length);
  }
  return parts;
}

function fragmentsOf(call: Call, position: number, way: Way, random: () => number): WireCall[] {
  const texts = textsOf(call.input, way.input, random);
  if ((way.name === 'split' || way.name === 'last' || way.id === 'late') && texts.length < 2)
    texts.push('');
  return texts.map((text, part) => {
    const isHead = part === 0;
    const index = indexOf(way.index, position, isHead, call);
    const id = idOf(way.id, call, part);
    const name = nameOf(way.name, call.name, part, texts.length);
    return {
      ...(index !== undefined && { index }),
      ...(id !== undefined && { id }),
      function: { ...(name !== undefined && { name }), arguments: text },
    };
  });
}

function textsOf(input: string, way: Way['input'], random: () => number): unknown[] {
  if (way === 'whole') return [input];
  if (way === 'object') return [input ? JSON.parse(input) : null];
  if (way === 'pieces') return input ? [...pieces(input, random)] : [''];
  if (way === 'pieces after the head') return ['', ...pieces(input, random)];
  if (way === 'whole, then repeated') return ['', input, input];
  const parts = pieces(input, random);
  if (way === 'after empty arguments') return ['{}', ...parts];
  return ['', ...parts.map((_part, position) => parts.slice(0, position + 1).join(''))];
}

function indexOf(
  way: Way['index'],
  position: number,
  isHead: boolean,
  { name }: Call,
): number | undefined {
  if (way === 'none') return undefined;
  if (way === 'one for all') return 0;
  if (way === 'from 1') return position + 1;
  if (way === 'other in the tail') return isHead ? position : position + 1;
  if (way === 'of the tool') return isHead ? name.length : position;
  return position;
}

function idOf(way: Way['id'], { id }: Call, part: number): string | undefined {
  if (way === 'new') return `${id}_${part}`;
  if (way === 'each') return id;
  if (way === 'one for all') return part === 0 ? 'call' : undefined;
  if (way === 'other in the tail') return part === 0 ? id : `tail_${id}`;
  return (way === 'first' && part === 0) || (way === 'late' && part === 1) ? id : undefined;
}

function nameOf(way: Way['name'], name: string, part: number, count: number): string | undefined {
  if (way === 'each') return name;
  if (way === 'last') return part === count - 1 ? name : '';
  if (way === 'split' && part < 2) return part === 0 ? name.slice(0, 2) : name.slice(2);
  if (part === 0) return name;
  return way === 'empty in the tail' ? '' : undefined;
}

/** Puts the fragments of all calls in one order. The fragments of each call keep their order. */
function ordered(calls: readonly WireCall[][], way: Way['order']): readonly WireCall[] {
  if (way === 'in turn') return calls.flat();
  const longest = Math.max(...calls.map(({ length }) => length));
  return Array.from({ length: longest }, (_unused, part) =>
    calls.flatMap((fragments) => fragments.slice(part, part + 1)),
  ).flat();
}

/**
 * Returns the names and arguments of the decoded calls. `undefined` if the reply is refused as
 * incomplete.
 */
function decode(fragments: readonly WireCall[]): readonly string[] | undefined {
  const chunks = fragments.map((fragment) => ({ delta: { tool_calls: [fragment] } }));
  return read(new OpenAiDecoder(), [...chunks, { delta: {}, finish_reason: 'tool_calls' }]);
}

function read(decoder: OpenAiDecoder, choices: readonly object[]): readonly string[] | undefined {
  const reply = new EventReply(decoder);
  // DashScope has its choices in `output`.
  const events = choices.map((choice) => ({ choices: [choice], output: { choices: [choice] } }));
  const body = [...events.map((event) => JSON.stringify(event)), '[DONE]'];
  const text = body.map((data) => `data: ${data}\n\n`).join('');
  const deltas = [
    ...reply.push(new TextEncoder().encode(text)),
    ...reply.end({ url: 'https://a/v1' }),
  ];
  if (!reply.error) return joined(deltas).calls.map(({ name, input }) => `${name} ${input}`);
  expect(reply.error).toMatchObject({ code: 'MODEL_BAD_RESPONSE', retryable: true });
  return undefined;
}

function expectedCalls(calls: readonly Call[], { input: way }: Way): readonly string[] {
  return calls.map(({ name, input }) => {
    if (way === 'after empty arguments' && !input) return `${name} {}`;
    const isRewritten = way === 'object' && input !== '';
    return `${name} ${isRewritten ? JSON.stringify(JSON.parse(input)) : input}`;
  });
}

/** A call without arguments has no place until its name comes. */
function sorted(calls: readonly string[], { name, order }: Way): readonly string[] {
  return name === 'last' && order === 'interleaved' ? calls.toSorted() : calls;
}

test.for(seeds({ quick: 20, full: 300 }))(
  'calls come out as they went in, or the reply is refused, in every way to split them (seed %i)',
  (seed) => {
    const random = randomOf(seed);
    const calls = randomCalls(random);
    const wrong: unknown[] = [];
    for (const way of allWays) {
      const hasEmpty = calls.some(({ input }) => !input);
      if (hasEmpty && !canBeEmpty(way)) continue;
      const split = calls.map((call, position) => fragmentsOf(call, position, way, random));
      const fragments = ordered(split, way.order);
      const decoded = decode(fragments);
      const expected = expectedCalls(calls, way);
      const isRight = decoded
        ? JSON.stringify(sorted(decoded, way)) === JSON.stringify(sorted(expected, way))
        : hasEmpty || !isClear(way);
      if (!isRight) wrong.push({ way, fragments, decoded, expected });
    }
    // A few of them say enough.
    expect(wrong.slice(0, 3)).toEqual([]);
  },
);

test.each([new OpenAiDecoder(), new DashScopeDecoder()])(
  'a new id in each fragment gives one call with its arguments',
  (decoder) => {
    const fragment = (id: string, name: string | undefined, text: string) => ({
      delta: { tool_calls: [{ index: 0, id, function: { name, arguments: text } }] },
    });
    const choices = [
      fragment('t1', 'weather', ''),
      fragment('t2', '', '{"city":'),
      fragment('t3', undefined, '"Rome"}'),
      { delta: {}, finish_reason: 'tool_calls' },
    ];
    expect(read(decoder, choices)).toEqual(['weather {"city":"Rome"}']);
  },
);

test('in a reply in one piece, each item is a call', () => {
  const item = (id: string | undefined, name: string, text: unknown) => ({
    ...(id && { id }),
    function: { name, arguments: text },
  });
  const message = {
    tool_calls: [item(undefined, 'f', ''), item(undefined, 'f', ''), item('a', 'g', { x: 1 })],
  };
  const choices = [{ message, finish_reason: 'tool_calls' }];
  expect(read(new OpenAiDecoder(), choices)).toEqual(['f ', 'f ', 'g {"x":1}']);
  const nameless = [{ message: { tool_calls: [item('a', '', '{}')] }, finish_reason: 'stop' }];
  expect(read(new OpenAiDecoder(), nameless)).toBeUndefined();
});
