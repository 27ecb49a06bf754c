import { parsePartialJson } from 'ai';
import { expect, test } from 'vitest';
import { randomOf } from '../../../../../test/random-of.ts';
import type { JsonValue } from '@isoloop/core';
import { partialJson } from './partial-json.ts';

const texts = ['', 'a b', '{"', '\\', 'é\u2028', '🙂', 'null', '\n\t"', '[1, 2]', ':,'];
/** AI SDK reads `+` in an exponent as the end of the number, so no number here has one. */
const numbers = [0, -1, 12.5, 1e-7, -2.5e-21, 123456];

function randomValue(random: () => number, depth = 0): JsonValue {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const kind = Math.floor(random() * (depth < 4 ? 6 : 4));
  if (kind === 0) return pick(texts);
  if (kind === 1) return pick(numbers);
  if (kind < 4) return pick([true, false, null, 'text']);
  const items = Array.from({ length: Math.floor(random() * 4) }, () =>
    randomValue(random, depth + 1),
  );
  if (kind === 4) return items;
  return Object.fromEntries(items.map((item, index) => [pick(texts) + index, item]));
}

/** Writes all characters outside of ASCII as escapes. */
const escaped = (text: string): string =>
  text.replace(/[^\u0020-\u007e]/g, (each) =>
    `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`.replace('\\u000a', '\n'),
  );

test('every beginning of random documents has the value that AI SDK finds', async () => {
  const random = randomOf(1);
  for (let index = 0; index < 150; index += 1) {
    const value = randomValue(random);
    const indent = index % 3 ? undefined : 2;
    const text = [JSON.stringify(value, null, indent), escaped(JSON.stringify(value))][index % 2]!;
    for (let end = 0; end <= text.length; end += 1) {
      const part = text.slice(0, end);
      const { value: shown } = await parsePartialJson(part);
      expect([part, partialJson(part)]).toEqual([part, shown]);
    }
    expect(partialJson(text)).toEqual(value);
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
  ['', undefined],
  ['-', undefined],
  ['no JSON', undefined],
  ['{"a": 1]', undefined],
] as const)('%s', ([text, value]) => {
  expect(partialJson(text)).toEqual(value);
});
