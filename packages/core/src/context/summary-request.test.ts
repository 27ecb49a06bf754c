import { expect, test } from 'vitest';
import { extent } from '@test/test-extent.ts';
import { assistantMessage, toolMessage, userMessage } from '../message/msg.ts';
import { arc } from '../tokens/arc-profile.ts';
import { transcript } from './summary-request.ts';

const parts = (messages: Parameters<typeof transcript>[0], partTokens = 1_000): readonly string[] =>
  transcript(messages, { partTokens, profile: arc });

test('transcript() contains roles, texts, tool calls and results, but no thinking', () => {
  const said = parts([
    userMessage(
      [
        { type: 'text', text: 'Look.' },
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      ],
      { name: 'Ann' },
    ),
    assistantMessage([
      { type: 'thinking', thinking: 'Hm.' },
      { type: 'tool_use', id: 'c', name: 'look', input: null, raw: '{bad' },
    ]),
    toolMessage({
      type: 'tool_result',
      toolUseId: 'c',
      name: 'look',
      output: [{ type: 'text', text: 'no' }],
      state: 'error',
    }),
    assistantMessage([{ type: 'thinking', thinking: 'Well.' }]),
  ]);
  expect(said).toEqual([
    '[user Ann] Look.\n[image: https://example.com/a.png]\n\n[assistant] calls look {bad\n\n[tool] look returned (error): no',
  ]);
});

test('the parts of a transcript stay within `partTokens` and keep the order of messages', () => {
  const said = parts(
    Array.from({ length: 20 }, (_, n) => userMessage(`m${n} ${'x'.repeat(100)}`)),
    100,
  );
  expect(said.length).toBeGreaterThan(5);
  for (const part of said) expect(arc.countText(part)).toBeLessThanOrEqual(105);
  expect(said.join('').match(/m\d+/g)).toEqual(Array.from({ length: 20 }, (_, n) => `m${n}`));
  expect(parts([])).toEqual([]);
});

test.each(['x', '日本', '👍', '\ud83d'])(
  'a long message of %j becomes one part and is cut between characters',
  (unit) => {
    const [part, ...rest] = parts(
      [userMessage(unit.repeat(Math.ceil(extent({ quick: 1e6, full: 1e7 }) / unit.length)))],
      500,
    );
    expect(rest).toEqual([]);
    const tokens = arc.countText(part!);
    expect(tokens).toBeLessThanOrEqual(500);
    expect(tokens).toBeGreaterThan(300);
    if (unit === '👍')
      expect(part).not.toMatch(
        /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/,
      );
  },
);
