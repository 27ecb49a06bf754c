import { parsePartialJson } from 'ai';
import { expect, test } from 'vitest';
import { escapedJson, forAiSdk, randomJson } from '../../../../../test/random-json.ts';
import { randomOf } from '../../../../../test/random-of.ts';
import { partialJson } from './partial-json.ts';

test('every beginning of random documents has the value that AI SDK finds', async () => {
  const random = randomOf(1);
  for (let index = 0; index < 150; index += 1) {
    const plain = forAiSdk(JSON.stringify(randomJson(random), null, index % 3 ? undefined : 2));
    const text = index % 2 ? escapedJson(plain) : plain;
    for (let end = 0; end <= text.length; end += 1) {
      const part = text.slice(0, end);
      const { value: shown } = await parsePartialJson(part);
      expect([part, partialJson(part)]).toEqual([part, shown]);
    }
    expect(partialJson(text)).toEqual(JSON.parse(text));
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
