import { expect, test } from 'vitest';
import { seeds } from '@test/test-extent.ts';
import { randomOf } from '@test/random-of.ts';
import { parseToolCalls, ReplyReader } from './reply-reader.ts';

const call = '{"tool_name":"a","arguments":{}}';

/**
 * Reads the text by character. Returns what the reader releases, each with the character that
 * released it.
 */
function releases(text: string): readonly (readonly [string, string])[] {
  const reader = new ReplyReader(true);
  return [...text].flatMap((c) => {
    const said = reader
      .push(c)
      .map((piece) => (piece.type === 'text' ? piece.delta : `<${piece.type}>`));
    return said.length ? [[c, said.join('')] as const] : [];
  });
}

test('releases a word at once, and white space with the next word', () => {
  expect(releases('a  b\n')).toEqual([
    ['a', 'a'],
    ['b', '  b'],
  ]);
});

test.each<readonly [string, string, string]>([
  ['{ return', 'r', '{ r'],
  ['{"a":1} x', '}', '{"a":1}'],
  ['{"a": b', 'b', '{"a": b'],
  ['[1]', '1', '[1'],
  ['[{"a":1}, 2]', '}', '[{"a":1}'],
  ['``x', 'x', '``x'],
  ['```python\n', 'p', '```p'],
  ['```json\nx', 'x', '```json\nx'],
  ['```json\n{"a":1}', '}', '```json\n{"a":1}'],
  ['<b>', 'b', '<b'],
  ["{'foo", "'", "{'"],
  ['{"a":1,"arguments":2}', '}', '{"a":1,"arguments":2}'],
])('holds %s back until it can no longer be a call', (text, c, released) => {
  expect(releases(text)[0]).toEqual([c, released]);
});

test.each([
  call,
  `\n\`\`\`json\n[${call}]\n\`\`\`\nDone.`,
  '{"tool_name": oops, "arguments"',
  '{"think": "x',
])('releases nothing of %s, which is or may become a call', (text) => {
  expect(releases(text)).toEqual([]);
});

test('releases thinking at once, except the start of a possible end tag', () => {
  const reader = new ReplyReader(true);
  expect(reader.push('<thi')).toEqual([]);
  expect(reader.push('nk>so </th')).toEqual([{ type: 'thinking', id: 'think:1', delta: 'so ' }]);
  expect(reader.push('ere</think')).toEqual([
    { type: 'thinking', id: 'think:1', delta: '</there' },
  ]);
  expect(reader.push('>\n 4')).toEqual([{ type: 'text', id: 'text', delta: '4' }]);
  expect([reader.text, reader.thinking]).toEqual(['4', 'so </there']);
});

test('an end tag without a start tag takes back the text before it, which is thinking', () => {
  const reader = new ReplyReader(true);
  expect(reader.push('I ask')).toEqual([{ type: 'text', id: 'text', delta: 'I ask' }]);
  expect(reader.push('</think>Hi')).toEqual([
    { type: 'reset', reason: 'protocol' },
    { type: 'thinking', id: 'think:1', delta: 'I ask' },
    { type: 'text', id: 'text', delta: 'Hi' },
  ]);
});

test('without tools, a call is text', () => {
  const reader = new ReplyReader(false);
  expect(reader.push(call)).toEqual([{ type: 'text', id: 'text', delta: call }]);
  expect(reader.end()).toEqual([]);
  expect(reader.parsedReply()).toEqual({ type: 'answer', text: call });
});

test.each(['word ', '{"a":', '{"tool_name":"', '`', '<', "{'", '[{"a":1},', '</think>a', call])(
  'a long reply that repeats %s can be read one character at a time',
  (part) => {
    const reader = new ReplyReader(true);
    const text = part.repeat(100_000 / part.length);
    for (const c of text) reader.push(c);
    reader.end();
    expect(reader.proseText.length).toBeLessThanOrEqual(text.length);
  },
);

const parts = [
  '<think>',
  '</think>',
  '<',
  'think>',
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  ':',
  ',',
  '"tool_name"',
  '"arguments"',
  "'",
  'tool_name',
  '`',
  '```',
  '```json\n',
  '\n',
  ' ',
  'x',
  '1',
  'Tool [a] execution result:',
  '{"a":1}',
  '🙂',
  'json',
  '{"think":"',
  'true',
  call,
];

/** Returns all that the reader makes of these pieces. */
function readAll(pieces: readonly string[]) {
  const reader = new ReplyReader(true);
  const deltas = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
  const start = deltas.findLastIndex(({ type }) => type === 'reset') + 1;
  const said = deltas.slice(start).map((delta) => (delta.type === 'text' ? delta.delta : ''));
  const { text, thinking, proseText } = reader;
  expect(said.join('')).toBe(proseText);
  return { proseText, text, thinking, parsed: reader.parsedReply() };
}

test('the result does not depend on how a reply is split, and an answer loses no text', () => {
  for (const seed of seeds({ quick: 1000, full: 10_000 })) {
    const random = randomOf(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const reply = Array.from({ length: 1 + below(12) }, () => parts[below(parts.length)]!).join('');
    const at = `seed ${seed}: ${reply}`;
    const whole = readAll([reply]);
    const cut = below(reply.length);
    expect(readAll(reply.split('')), at).toEqual(whole);
    expect(readAll([reply.slice(0, cut), reply.slice(cut)]), at).toEqual(whole);
    if (parseToolCalls(reply).type !== 'answer') continue;
    expect(whole.proseText, at).toBe(whole.text);
    if (!reply.includes('think>')) expect(whole.text, at).toBe(reply);
  }
});
