import { expect, test } from 'vitest';
import type { ParsedReply } from './parsed-reply.ts';
import { parseToolCalls } from './reply-reader.ts';

const call = (name: string, args = '{}'): string => `{"tool_name":"${name}","arguments":${args}}`;
const fenced = (json: string, info = 'json'): string => `\`\`\`${info}\n${json}\n\`\`\``;
const calls = (...names: readonly string[]): Extract<ParsedReply, { type: 'calls' }> => ({
  type: 'calls',
  calls: names.map((name) => ({ name, arguments: {} })),
});

test.each<readonly [string, ParsedReply]>([
  [call('a'), calls('a')],
  [fenced(call('a')), calls('a')],
  [fenced(call('a'), ''), calls('a')],
  [fenced(call('a'), 'JSON'), calls('a')],
  [fenced(call('a'), 'tool_call'), calls('a')],
  [`\`\`\`\njson${call('a')}\`\`\``, calls('a')],
  [`\`\`\`json ${call('a')} \`\`\``, calls('a')],
  [`\n\n${call('a')}\n`, calls('a')],
  [`[${call('a')}, ${call('b')}]`, calls('a', 'b')],
  [fenced(`[\n  ${call('a')}\n]`), calls('a')],
  [`${fenced(call('a'))}\n${fenced(call('b'))}`, calls('a', 'b')],
  [fenced(`${call('a')}\n${call('b')}`), calls('a', 'b')],
  [`${call('a')} and then ${call('b')} thanks`, calls('a', 'b')],
  [`<tool_call>${call('a')}</tool_call>`, { ...calls('a'), text: '<tool_call>' }],
  [`Let me look.\n\n${fenced(call('a'))}\nNow I wait.`, { ...calls('a'), text: 'Let me look.' }],
  [`{"foo":1} ${call('a')}`, { ...calls('a'), text: '{"foo":1}' }],
  [`${call('a')}\nTool [a] execution result: 4\n${call('b')}`, calls('a')],
  [`<think>I call {"tool_name": ... no</think>${call('a')}`, calls('a')],
  [`I call ${call('b')}, or {"tool_name": "c</think>${call('a')}`, calls('a')],
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
  fenced(`x = ${call('a')}`, 'python'),
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
  [`${call('a')}\n{"think": "now b`, 'it does not end'],
  ['{"tool_na', 'it does not end'],
  [fenced('[{"tool_name": "x", "arguments": {}}'), 'unexpected "`" after "[{'],
  ['{"tool_name":"x"}', '"arguments" in the call of "x" must be an object'],
  ['{"tool_name":"x","arguments":"q=1"}', '"arguments" in the call of "x" must be'],
  ['{"tool_name":"x","arguments":[1]}', '"arguments" in the call of "x" must be'],
  ['{"tool_name":"x","arguments":null}', '"arguments" in the call of "x" must be'],
  ['{"tool_name":"x","arguments":7}', '"arguments" in the call of "x" must be'],
  ['{"tool_name":7,"arguments":{}}', '"tool_name" is not the name'],
  [`[${call('a')}, {"foo": 1}]`, 'Item 2 of the list: it is not an object with "tool_name"'],
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
