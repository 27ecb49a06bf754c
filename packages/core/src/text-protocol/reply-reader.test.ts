import { expect, test } from 'vitest';
import { seeds } from '@test/test-extent.ts';
import { randomOf } from '@test/random-of.ts';
import { parseToolCalls, ReplyReader } from './reply-reader.ts';
import type { ParsedReply } from './parsed-reply.ts';

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

const callOf = (name: string, args = '{}'): string => `{"tool_name":"${name}","arguments":${args}}`;
const fenced = (json: string, info = 'json'): string => `\`\`\`${info}\n${json}\n\`\`\``;
const calls = (...names: readonly string[]): Extract<ParsedReply, { type: 'calls' }> => ({
  type: 'calls',
  calls: names.map((name) => ({ name, arguments: {} })),
});

test.each<readonly [string, ParsedReply]>([
  [callOf('a'), calls('a')],
  [fenced(callOf('a')), calls('a')],
  [fenced(callOf('a'), ''), calls('a')],
  [fenced(callOf('a'), 'JSON'), calls('a')],
  [fenced(callOf('a'), 'tool_call'), calls('a')],
  [`\`\`\`\njson${callOf('a')}\`\`\``, calls('a')],
  [`\`\`\`json ${callOf('a')} \`\`\``, calls('a')],
  [`\n\n${callOf('a')}\n`, calls('a')],
  [`[${callOf('a')}, ${callOf('b')}]`, calls('a', 'b')],
  [fenced(`[\n  ${callOf('a')}\n]`), calls('a')],
  [`${fenced(callOf('a'))}\n${fenced(callOf('b'))}`, calls('a', 'b')],
  [fenced(`${callOf('a')}\n${callOf('b')}`), calls('a', 'b')],
  [`${callOf('a')} and then ${callOf('b')} thanks`, calls('a', 'b')],
  [`<tool_call>${callOf('a')}</tool_call>`, { ...calls('a'), text: '<tool_call>' }],
  [`Let me look.\n\n${fenced(callOf('a'))}\nNow I wait.`, { ...calls('a'), text: 'Let me look.' }],
  [`{"foo":1} ${callOf('a')}`, { ...calls('a'), text: '{"foo":1}' }],
  [`${callOf('a')}\nTool [a] execution result: 4\n${callOf('b')}`, calls('a')],
  [`<think>I call {"tool_name": ... no</think>${callOf('a')}`, calls('a')],
  [`I call ${callOf('b')}, or {"tool_name": "c</think>${callOf('a')}`, calls('a')],
  [
    `{ "arguments" : "{\\"q\\":\\"東京 🙂\\"}", "tool_name" : " a " }`,
    { type: 'calls', calls: [{ name: 'a', arguments: { q: '東京 🙂' } }] },
  ],
  [
    `{"think":"so","tool_name":"a","arguments":{}}`,
    { type: 'calls', calls: [{ name: 'a', arguments: {}, think: 'so' }] },
  ],
  [
    `{"tool_name":"a","arguments":{"code":"if (x) {\n\t<think>\n}"}}`,
    { type: 'calls', calls: [{ name: 'a', arguments: { code: 'if (x) {\n\t<think>\n}' } }] },
  ],
  [`{"tool\\u005fname":"a","arguments":{}}`, calls('a')],
])('the reply %s makes calls', (reply, parsed) => {
  expect(parseToolCalls(reply)).toEqual(parsed);
});

test.each([
  'The answer is 4',
  '  \n',
  '',
  'null',
  '{}',
  '[]',
  '{"foo":1}',
  'Result is {"foo": 1} ok',
  fenced('{"foo": {"tool_name": "x"}}'),
  fenced('[{"foo": 1}, {"bar": 2}]'),
  fenced('"just a string"'),
  fenced(`x = ${callOf('a')}`, 'python'),
  fenced('{"foo": 1}', 'js'),
  '```js\nf({a: 1});\n``` and then ```\nx\n```',
  'no json but } reversed {',
  'f(x) { return x; } {x | x > 0} ${name} {{x}} [1] [link](url)',
  '{"foo": bar, "baz": [}',
  '{"foo": [1, 2',
  '{"foo": 1, "ba',
  '`a` ``b`` ```',
  "{ 'foo': 1 } {arguments} {tool_name} {think about it} {'",
  'a < b, <thin',
  '"tool_name" and "arguments" are { keys }',
  `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`,
])('the reply %s is an answer', (text) => {
  expect(parseToolCalls(text)).toEqual({ type: 'answer', text });
});

test.each<readonly [string, string]>([
  ['{"tool_name": "x", "arguments": {', 'it does not end; its last words are "{\\"tool_name'],
  [`${callOf('a')}\n{"think": "now b`, 'it does not end'],
  ['{"tool_na', 'it does not end'],
  [fenced('[{"tool_name": "x", "arguments": {}}'), 'unexpected "`" after "[{'],
  ['{"tool_name":"x"}', '"arguments" in the call of "x" must be an object'],
  ['{"tool_name":"x","arguments":"q=1"}', '"arguments" in the call of "x" must be'],
  ['{"tool_name":"x","arguments":[1]}', '"arguments" in the call of "x" must be'],
  ['{"tool_name":"x","arguments":null}', '"arguments" in the call of "x" must be'],
  ['{"tool_name":"x","arguments":7}', '"arguments" in the call of "x" must be'],
  ['{"tool_name":7,"arguments":{}}', '"tool_name" is not the name'],
  [`[${callOf('a')}, {"foo": 1}]`, 'Item 2 of the list: it is not an object with "tool_name"'],
  ["{'tool_name':'a','arguments':{}}", 'need double quotes'],
  ['{tool_name: "a"}', 'need double quotes'],
  [
    '{"think": "say "hi" first", "tool_name": "a"}',
    'unexpected "h" after "{\\"think\\": \\"say \\""',
  ],
  ['{"tool_name": "a", "arguments": {},}', 'it is not JSON; it ends with'],
  ['{"tool_name": "a", "arguments": {"a" "b"}}', 'it is not JSON'],
])('the reply %s is invalid, and its message says why', (reply, why) => {
  const parsed = parseToolCalls(reply);
  expect(parsed).toMatchObject({ type: 'invalid', message: expect.stringContaining(why) });
  expect(parsed).toMatchObject({
    message: expect.stringMatching(/No tool was called\. Reply again/),
  });
});

test.each(['length', 'MAX_TOKENS'])(
  'the message for a reply that ended with %s tells the model that it reached its length limit',
  (finishReason) => {
    const { message } = parseToolCalls('{"tool_name": "x', { finishReason }) as {
      readonly message: string;
    };
    expect(message).toContain('reached its length limit');
  },
);

test.each<readonly [string, string]>([
  ['<think>a</think><think>b</think> final', 'final'],
  ['a</think>\n\nfinal', 'final'],
  ['<think>a<think>b</think>c</think>final ', 'final '],
  ['final<think>a', 'final'],
  ['one <think>a</think> two', 'one  two'],
  ['<think>all', ''],
])('thinking is removed from the answer %s', (reply, text) => {
  expect(parseToolCalls(reply)).toEqual({ type: 'answer', text });
});
