import { expect, test } from 'vitest';
import { fromResponsesInput } from './responses-messages.ts';

const read = (input: unknown) =>
  fromResponsesInput(input).map(({ role, content }) => [role, content]);
const text = (value: string) => ({ type: 'text', text: value });

test('a text is a message of the user', () => {
  expect(read('Hi')).toEqual([['user', [text('Hi')]]]);
});

test('an image keeps its detail', () => {
  const image = { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'high' };
  expect(read([{ role: 'user', content: [image] }])).toMatchObject([
    ['user', [{ type: 'image', providerMetadata: { openai: { imageDetail: 'high' } } }]],
  ]);
});

test('messages have text, images and files', () => {
  const content = [
    { type: 'input_text', text: 'What?' },
    { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
    { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' },
    { type: 'input_file', file_url: 'https://example.com/b.pdf' },
  ];
  expect(
    read([
      { role: 'developer', content: 'Rules.' },
      { type: 'message', role: 'user', content },
    ]),
  ).toEqual([
    ['system', [text('Rules.')]],
    [
      'user',
      [
        text('What?'),
        { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' } },
        {
          type: 'file',
          source: { type: 'base64', mediaType: 'application/pdf', data: 'BBBB' },
          name: 'a.pdf',
        },
        { type: 'file', source: { type: 'url', url: 'https://example.com/b.pdf' } },
      ],
    ],
  ]);
});

test("the assistant's items of one reply become one message, and reasoning is skipped", () => {
  const items = [
    { role: 'user', content: 'Go' },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      phase: 'commentary',
      content: [{ type: 'output_text', text: 'Let me see.', annotations: [] }],
    },
    { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'place', arguments: '{"a":1}' },
    { type: 'function_call', call_id: 'c2', name: 'place', arguments: '' },
    { type: 'function_call_output', call_id: 'c1', output: 'Seoul' },
    { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'Oslo' }] },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
  ];
  const result = (toolUseId: string, output: unknown) => [
    'tool',
    [{ type: 'tool_result', toolUseId, name: 'place', output, state: 'success' }],
  ];
  expect(read(items)).toEqual([
    ['user', [text('Go')]],
    [
      'assistant',
      [
        text('Let me see.'),
        { type: 'tool_use', id: 'c1', name: 'place', input: { a: 1 } },
        { type: 'tool_use', id: 'c2', name: 'place', input: {} },
      ],
    ],
    result('c1', 'Seoul'),
    result('c2', [text('Oslo')]),
    ['assistant', [text('No.')]],
  ]);
});

test('arguments that are not JSON are kept as text', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{a' };
  expect(read([call])).toEqual([
    ['assistant', [{ type: 'tool_use', id: 'c', name: 'f', input: null, raw: '{a' }]],
  ]);
});

const user = (part: unknown) => [{ role: 'user', content: [part] }];

test.for<[param: string, input: unknown]>([
  ['input', undefined],
  ['input', ''],
  ['input', []],
  ['input', { role: 'user', content: 'Hi' }],
  ['input[1]', [{ role: 'user', content: 'Hi' }, null]],
  ['input[0]', [{ role: 'king', content: 'Hi' }]],
  ['input[0].content', [{ role: 'user' }]],
  ['input[0].content[0]', user({ type: 'input_audio' })],
  ['input[0].content[0]', user({ type: 'input_text' })],
  ['input[0].content[0]', user({ type: 'input_image' })],
  ['input[0].content[0]', user({ type: 'input_file', filename: 'a' })],
  ['input[0].content[0].image_url', user({ type: 'input_image', image_url: 1 })],
  ['input[0].content[0].file_data', user({ type: 'input_file', file_data: 1 })],
  ['input[0].content[0].file_url', user({ type: 'input_file', file_url: {} })],
  ['input[0].content[0].file_id', user({ type: 'input_file', file_id: 'file_1' })],
  ['input[0].content[0].file_id', user({ type: 'input_image', file_id: 'file_1' })],
  ['input[0]', [{ type: 'item_reference', id: 'msg_1' }]],
  ['input[0]', [{ type: 'web_search_call', id: 'ws_1' }]],
  ['input[0]', [{ type: 'function_call', call_id: 'c', name: 'f' }]],
  ['input[0]', [{ type: 'function_call_output', output: 'x' }]],
  ['input[0].output', [{ type: 'function_call_output', call_id: 'c', output: 1 }]],
])('an invalid input is named: %s', ([param, input]) => {
  const error = (() => {
    try {
      return fromResponsesInput(input);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toMatchObject({ code: 'INVALID_INPUT', details: { param } });
  expect(String(error)).toContain(`\`${param}\``);
});
