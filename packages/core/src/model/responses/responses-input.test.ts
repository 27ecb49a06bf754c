import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import {
  assistantMessage,
  createMessage,
  userMessage,
  type ContentBlock,
  type Msg,
} from '../../message/msg.ts';
import { toInputItems } from './responses-input.ts';

const format = {
  features: { tools: true, media: ['image', 'file'] },
  origin: 'api.openai.com',
} as const;

const items = (message: Msg) => JSON.parse(JSON.stringify(toInputItems(message, format)));

const kept = (index: number, item?: object): object => ({
  providerMetadata: { responses: { index, ...(item && { origin: format.origin, item }) } },
});

const reply = (...content: readonly object[]): Msg =>
  assistantMessage(content as readonly ContentBlock[]);

const reasoning = { type: 'reasoning', id: 'rs_1', encrypted_content: 'secret' };

test('text is sent as a string, and media are sent as parts', () => {
  expect(items(userMessage('Hi'))).toEqual([{ role: 'user', content: 'Hi' }]);
  const message = createMessage('user', [
    { type: 'text', text: 'Look' },
    { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
    { type: 'file', source: { type: 'url', url: 'https://a.example/b.pdf' } },
    {
      type: 'file',
      name: 'c.pdf',
      source: { type: 'base64', mediaType: 'application/pdf', data: 'AA==' },
    },
    { type: 'audio', source: { type: 'url', url: 'https://a.example/d.mp3' } },
  ]);
  expect(items(message)).toEqual([
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look' },
        { type: 'input_image', image_url: 'https://a.example/b.png', detail: 'auto' },
        { type: 'input_file', file_url: 'https://a.example/b.pdf' },
        { type: 'input_file', filename: 'c.pdf', file_data: 'data:application/pdf;base64,AA==' },
        { type: 'input_text', text: expect.stringContaining('d.mp3') },
      ] satisfies OpenAI.Responses.ResponseInputContent[],
    },
  ]);
});

test('an image is sent with its detail', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } } as const;
  const providerMetadata = { openai: { imageDetail: 'low' } };
  expect(items(createMessage('user', [{ ...image, providerMetadata }]))).toMatchObject([
    { content: [{ type: 'input_image', detail: 'low' }] },
  ]);
});

test('an image in a tool result is sent as an image', () => {
  const message = createMessage('tool', [
    {
      type: 'tool_result',
      toolUseId: 'c1',
      name: 'shot',
      state: 'success',
      output: [
        { type: 'text', text: 'Done' },
        { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AA==' } },
      ],
    },
    { type: 'tool_result', toolUseId: 'c2', name: 'f', state: 'error', output: 'No.' },
  ]);
  expect(items(message)).toEqual([
    {
      type: 'function_call_output',
      call_id: 'c1',
      output: [
        { type: 'input_text', text: 'Done' },
        { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'auto' },
      ],
    },
    { type: 'function_call_output', call_id: 'c2', output: 'No.' },
  ]);
});

test('a reply is converted back to its items, in the order of the reply', () => {
  const message = reply(
    { type: 'thinking', thinking: 'First', ...kept(0, reasoning) },
    { type: 'text', text: 'I look it up.', ...kept(1, { phase: 'commentary' }) },
    { type: 'thinking', thinking: '', ...kept(3, { ...reasoning, id: 'rs_2' }) },
    { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 }, ...kept(2) },
    {
      type: 'tool_use',
      id: 'c2',
      name: 'g',
      input: {},
      raw: '{ }',
      ...kept(4, { namespace: 'n' }),
    },
  );
  expect(items(message)).toEqual([
    { ...reasoning, summary: [{ type: 'summary_text', text: 'First' }] },
    { role: 'assistant', content: 'I look it up.', phase: 'commentary' },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
    { ...reasoning, id: 'rs_2', summary: [] },
    { type: 'function_call', namespace: 'n', call_id: 'c2', name: 'g', arguments: '{ }' },
  ]);
});

test('an item with several texts stays one message', () => {
  const message = reply(
    { type: 'text', text: 'One ', ...kept(0) },
    { type: 'text', text: 'two.', ...kept(0) },
    { type: 'text', text: 'Three.', ...kept(1) },
  );
  expect(items(message)).toEqual([
    { role: 'assistant', content: 'One two.' },
    { role: 'assistant', content: 'Three.' },
  ]);
});

test('the full reasoning of an open model is sent back, but a summary alone is not', () => {
  const open = { type: 'reasoning', id: 'rs_1' };
  const full = {
    providerMetadata: {
      responses: { index: 0, origin: format.origin, item: open, part: 'content' },
    },
  };
  const text = { type: 'text', text: 'Yes', ...kept(1) };
  expect(items(reply({ type: 'thinking', thinking: 'Well', ...full }, text))).toEqual([
    { ...open, summary: [], content: [{ type: 'reasoning_text', text: 'Well' }] },
    { role: 'assistant', content: 'Yes' },
  ]);
  expect(items(reply({ type: 'thinking', thinking: 'Well', ...kept(0, open) }))).toEqual([]);
});

test.for([
  ['of another server', { responses: { index: 0, origin: 'x.ai', item: reasoning } }],
  ['of another provider', { anthropic: { signature: 's' } }],
  ['without metadata', undefined],
])('reasoning %s is not sent back', ([, providerMetadata]) => {
  const block = {
    type: 'thinking',
    thinking: 'Well',
    ...(providerMetadata && { providerMetadata }),
  };
  expect(items(reply(block, { type: 'text', text: 'Yes' }))).toEqual([
    { role: 'assistant', content: 'Yes' },
  ]);
});

test('the use of a built-in tool is sent back unchanged', () => {
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
  expect(items(reply({ type: 'thinking', thinking: '', ...kept(0, search) }))).toEqual([search]);
});

test('a call that the client would have to answer is omitted, with the reasoning before it', () => {
  const message = reply(
    { type: 'thinking', thinking: 'Hm', ...kept(0, reasoning) },
    { type: 'thinking', thinking: '', ...kept(1, { type: 'local_shell_call', id: 'l' }) },
    { type: 'text', text: 'Hello', ...kept(2) },
  );
  expect(items(message)).toEqual([{ role: 'assistant', content: 'Hello' }]);
});

test('reasoning without the item that followed it is not sent, such as after a cut reply', () => {
  const thought = { type: 'thinking', thinking: 'Hm', ...kept(0, reasoning) };
  expect(items(reply(thought))).toEqual([]);
  expect(items(reply(thought, { type: 'text', text: 'Stopped.' }))).toEqual([
    { role: 'assistant', content: 'Stopped.' },
  ]);
});

test('a model without reasoning gets none', () => {
  const message = reply(
    { type: 'thinking', thinking: 'Hm', ...kept(0, reasoning) },
    { type: 'text', text: 'Yes', ...kept(1) },
  );
  const plain = toInputItems(message, { ...format, encryptedReasoning: false });
  expect(plain).toEqual([{ role: 'assistant', content: 'Yes' }]);
});

test('a call of a built-in tool is sent back with its output', () => {
  const call = { type: 'shell_call', id: 's', call_id: 'c1' };
  const output = { type: 'shell_call_output', id: 'o', call_id: 'c1' };
  const message = reply(
    { type: 'thinking', thinking: '', ...kept(0, call) },
    { type: 'thinking', thinking: '', ...kept(1, output) },
  );
  expect(items(message)).toEqual([call, output]);
});
