import { expect, test } from 'vitest';
import { withOrigin } from '../../message/provider-metadata.ts';
import type { ModelDelta } from '../chat-model.ts';
import { decodeToolCall, type DecodedCall, type WireToolCall } from './openai-tool-calls.ts';

function decode(fragments: readonly unknown[]): {
  readonly calls: readonly DecodedCall[];
  readonly deltas: readonly ModelDelta[];
} {
  const calls: DecodedCall[] = [];
  const deltas: ModelDelta[] = [];
  for (const fragment of fragments)
    decodeToolCall(fragment as WireToolCall, calls, deltas, 'models.test');
  return { calls, deltas };
}

const named = (name: string, args: string) => ({ function: { name, arguments: args } });

test.for([
  [
    'without an index',
    [{ index: 0, id: 'c', ...named('f', '{') }, { function: { arguments: '}' } }],
    ['f {}'],
  ],
  [
    'without a function',
    [
      { index: 0, id: 'c' },
      { index: 0, ...named('f', '{}') },
    ],
    ['f {}'],
  ],
  [
    'of another name, while the first call is incomplete',
    [named('f', '{"a"'), named('g', '{}')],
    ['f {"a"', 'g {}'],
  ],
  [
    'of the same name, while the first call is incomplete',
    [named('f', '{"a"'), named('f', ':1}')],
    ['f {"a":1}'],
  ],
  [
    'of the same name, when the first call is complete',
    [named('f', '{}'), named('f', '{}')],
    ['f {}', 'f {}'],
  ],
  ['without content', [{ index: 0 }, { index: 1, function: {} }], []],
] as const)('decodeToolCall() joins fragments %s', ([, fragments, expected]) => {
  expect(decode(fragments).calls.map(({ name, input }) => `${name} ${input}`)).toEqual(expected);
});

test('id and name are reported once, and other provider data is passed on, even alone', () => {
  const extra_content = { google: { thought_signature: 's' } };
  const { deltas } = decode([
    { index: 0, id: 'c', ...named('f', '{') },
    { index: 0, id: 'c', ...named('f', '}') },
    { index: 0, extra_content },
  ]);
  expect(deltas).toEqual([
    { type: 'tool-input', index: 0, id: 'c', name: 'f', delta: '{' },
    { type: 'tool-input', index: 0, delta: '}' },
    {
      type: 'tool-input',
      index: 0,
      providerMetadata: withOrigin('models.test', { extra_content }),
      delta: '',
    },
  ]);
});
