import { parsePartialJson } from 'ai';
import { expect, test } from 'vitest';
import { escapedJson, forAiSdk, randomJson } from '@test/random-json.ts';
import { randomOf } from '@test/random-of.ts';
import { extent } from '@test/test-extent.ts';
import { extendsIt } from '@test/support/extends-it.ts';
import { JsonReader } from './json-reader.ts';
import type { JsonValue } from '../../message/json.ts';

function valueOf(...pieces: readonly string[]): JsonValue | undefined {
  const reader = new JsonReader();
  for (const piece of pieces) reader.push(piece);
  return reader.value;
}

const count = extent({ quick: 300, full: 5000 });

test(`each beginning of ${count} random documents extends the value of the one before it`, () => {
  const random = randomOf(7);
  for (let index = 0; index < count; index += 1) {
    const value = randomJson(random);
    const plain = JSON.stringify(value, null, (index % 3) * 2);
    const text = index % 2 ? escapedJson(plain) : plain;
    const reader = new JsonReader();
    let before: JsonValue | undefined;
    for (let end = 1; end <= text.length; end += 1) {
      reader.push(text[end - 1]!);
      const shown = reader.value;
      // The same text in one piece has the same value.
      expect([text.slice(0, end), shown]).toEqual([
        text.slice(0, end),
        valueOf(text.slice(0, end)),
      ]);
      expect([text, end, extendsIt(shown, before)]).toEqual([text, end, true]);
      expect(JSON.stringify(shown) ?? '').not.toMatch(/\\ud[89ab]/);
      before = shown;
    }
    reader.push(' ');
    expect([text, reader.value, reader.state]).toEqual([text, JSON.parse(text), 'complete']);
  }
});

test('each beginning has what AI SDK shows of it, without what is not complete', async () => {
  const random = randomOf(9);
  for (let index = 0; index < count / 4; index += 1) {
    const text = forAiSdk(JSON.stringify({ value: randomJson(random) }, null, index % 3));
    for (let end = 0; end <= text.length; end += 1) {
      const part = text.slice(0, end);
      // A space ends a number or a word. Without one, it is not complete.
      const whole = part.replace(/[^\s{}[\],:"]+$/, (token) =>
        (part.match(/(?<!\\)(?:\\\\)*"/g) ?? []).length % 2 ? token : '',
      );
      const isDone = /(?:true|false|null)$/.test(part);
      const { value: shown } = await parsePartialJson(isDone ? part : whole);
      expect([part, valueOf(part)]).toEqual([part, withoutHalves(shown as JsonValue | undefined)]);
    }
  }
});

/** Leaves out the first half of a character at the end of strings. */
function withoutHalves(value: JsonValue | undefined): JsonValue | undefined {
  if (value === undefined) return undefined;
  return JSON.parse(JSON.stringify(value).replace(/\\ud[89ab]..(?=")/g, '')) as JsonValue;
}

test.for<[pieces: readonly string[], value: JsonValue | undefined]>([
  [[''], undefined],
  [['  '], undefined],
  [['{'], {}],
  [['{"a'], {}],
  [['{"a":'], {}],
  [['{"a": "'], { a: '' }],
  [['{"a": "\\'], { a: '' }],
  [['{"a": "\\u00', '41'], { a: 'A' }],
  [['{"a": "\\ud83d'], { a: '' }],
  [['{"a": "\\ud83d\\ude4'], { a: '' }],
  [['{"a": "\\ud83d\\ude42'], { a: '🙂' }],
  [['{"a": "\ud83d'], { a: '' }],
  [['{"a": "\ud83d', '\ude42'], { a: '🙂' }],
  [['{"a": 1'], {}],
  [['{"a": 1', '2', '}'], { a: 12 }],
  [['{"a": -1.5e', '+3 '], { a: -1500 }],
  [['[tru'], []],
  [['[tru', 'e'], [true]],
  [['[null, fals'], [null]],
  [['null'], null],
  [['42'], undefined],
  [['"half'], 'half'],
  [['{"__proto__": {"x": 1', '}}'], JSON.parse('{"__proto__": {"x": 1}}') as JsonValue],
  [['{"a": 1} and more {"b"'], { a: 1 }],
  [
    ['[[], [', '[1, {"a": [2'],
    [[], [[1, { a: [] }]]],
  ],
])('the pieces %j have the value %j', ([pieces, value]) => {
  expect(valueOf(...pieces)).toEqual(value);
});

test.for<[text: string, value: JsonValue | undefined]>([
  ['no JSON', undefined],
  ['{"a": 1]', { a: 1 }],
  ['{a: 1}', {}],
  ['{"a" "b"}', {}],
  ['[1,]', [1]],
  ['{"a": 1,}', { a: 1 }],
  ['[01]', []],
  ['[1 2]', [1]],
  ['["a\nb"]', ['a']],
  ['["\\x"]', ['']],
  ['["one\\u00zz"]', ['one']],
  ['[nul]', []],
  ['[,]', []],
  ['}', undefined],
])('%j is no JSON: the value before the mistake stays', ([text, value]) => {
  for (const pieces of [[text], Array.from(text)]) {
    const reader = new JsonReader();
    for (const piece of pieces) reader.push(piece);
    expect([reader.state, reader.value]).toEqual(['broken', value]);
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
  }
});

test('finished objects stay the same, and shown values never change', () => {
  const reader = new JsonReader();
  reader.push('{"list": [{"a": 1}, {"b": ');
  const first = reader.value as { readonly list: readonly object[] };
  expect(reader.value).toBe(first);
  const copy = structuredClone(first);
  reader.push(' ');
  expect(reader.value).toBe(first);
  reader.push('"two"}, {');
  const second = reader.value as typeof first;
  expect(second).toEqual({ list: [{ a: 1 }, { b: 'two' }, {}] });
  expect(second.list[0]).toBe(first.list[0]);
  expect(first).toEqual(copy);
  reader.push('}]}');
  const last = reader.value as typeof first;
  expect(last.list[1]).toBe(second.list[1]);
});

/** Returns what a reader that shows incomplete numbers and words has, or nothing for no JSON. */
function incompleteValueOf(...pieces: readonly string[]): JsonValue | undefined {
  const reader = new JsonReader({ showsIncomplete: true });
  for (const piece of pieces) reader.push(piece);
  return reader.state === 'broken' ? undefined : reader.value;
}

test('with showsIncomplete, every beginning has the value that AI SDK finds', async () => {
  const random = randomOf(1);
  for (let index = 0; index < count / 2; index += 1) {
    const plain = forAiSdk(JSON.stringify(randomJson(random), null, index % 3 ? undefined : 2));
    const text = index % 2 ? escapedJson(plain) : plain;
    const reader = new JsonReader({ showsIncomplete: true });
    for (let end = 0; end <= text.length; end += 1) {
      const part = text.slice(0, end);
      const { value: shown } = await parsePartialJson(part);
      expect([part, reader.value]).toEqual([part, withoutHalves(shown as JsonValue | undefined)]);
      expect([part, incompleteValueOf(part)]).toEqual([part, reader.value]);
      reader.push(text.slice(end, end + 1));
    }
  }
});

test.for([
  ['{"a": tru', { a: true }],
  ['{"a": 1, "b', { a: 1 }],
  ['{"a": "\\u00', { a: '' }],
  ['{"a": "one\\', { a: 'one' }],
  ['[1, -', [1]],
  ['[1.5e', [1.5]],
  ['{"a": 1.5e+2', { a: 150 }],
  ['"half', 'half'],
  ['{"a": 1} and more', { a: 1 }],
  [`[${'1'.repeat(100)}`, []],
  ['', undefined],
  ['-', undefined],
  ['no JSON', undefined],
  ['{"a": 1]', undefined],
] as const)('with showsIncomplete, %s', ([text, value]) => {
  expect(incompleteValueOf(text)).toEqual(value);
  expect(incompleteValueOf(...text)).toEqual(value);
});
