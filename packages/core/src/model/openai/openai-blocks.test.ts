import { expect, test } from 'vitest';
import { createMessage, type ContentBlock, type MediaBlock, type Role } from '../../message/msg.ts';
import type { ModelDelta, ModelRequest, ToolChoice } from '../chat-model.ts';
import { OpenAiDecoder } from './openai-decoder.ts';
import { openAiFormatter, type OpenAiFormatterOptions } from './openai-formatter.ts';

const all: OpenAiFormatterOptions = {
  model: 'm',
  features: { tools: true, media: ['image', 'audio', 'video', 'file'] },
  maxTokensField: 'max_tokens',
  sendThinking: true,
  includeUsage: false,
};

const format = (request: Partial<ModelRequest>): Record<string, unknown> =>
  JSON.parse(openAiFormatter(all).format({ messages: [], tools: [], ...request }));

const wire = (role: Role, ...content: readonly ContentBlock[]): unknown =>
  format({ messages: [createMessage(role, content)] })['messages'];

const inline = (type: MediaBlock['type'], mediaType: string): MediaBlock => ({
  type,
  source: { type: 'base64', mediaType, data: 'QUJD' },
});

const text: ContentBlock = { type: 'text', text: 'T' };
const thinking: ContentBlock = { type: 'thinking', thinking: 'Hm.', signature: 's' };
const image = inline('image', 'image/png');
const audio = inline('audio', 'audio/wav');
const video = inline('video', 'video/mp4');
const file = inline('file', 'application/pdf');
const use: ContentBlock = {
  type: 'tool_use',
  id: 'c',
  name: 'f',
  input: { a: 1 },
  raw: '{ "a": 1 }',
};
const result: ContentBlock = {
  type: 'tool_result',
  toolUseId: 'c',
  name: 'f',
  output: [text, image, audio, video, file],
  state: 'error',
};

const parts = {
  image: { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
  audio: { type: 'input_audio', input_audio: { data: 'QUJD', format: 'wav' } },
  video: { type: 'video_url', video_url: { url: 'data:video/mp4;base64,QUJD' } },
  file: { type: 'file', file: { filename: 'file', file_data: 'data:application/pdf;base64,QUJD' } },
};
const placeholders =
  '[image: image/png]\n[audio: audio/wav]\n[video: video/mp4]\n[file: application/pdf]';
const wiredCall = { id: 'c', type: 'function', function: { name: 'f', arguments: '{ "a": 1 }' } };
const wiredResult = { role: 'tool', tool_call_id: 'c', content: `T\n${placeholders}` };

test.each<[role: Role, content: readonly ContentBlock[], wired: readonly unknown[]]>([
  [
    'system',
    [text, image, audio, video, file],
    [{ role: 'system', content: `T\n${placeholders}` }],
  ],
  ['user', [text, thinking], [{ role: 'user', content: 'T' }]],
  ['user', [image], [{ role: 'user', content: [parts.image] }]],
  ['user', [audio], [{ role: 'user', content: [parts.audio] }]],
  ['user', [video], [{ role: 'user', content: [parts.video] }]],
  ['user', [file], [{ role: 'user', content: [parts.file] }]],
  ['user', [text, result], [wiredResult, { role: 'user', content: 'T' }]],
  [
    'assistant',
    [text, image, audio, video, file],
    [{ role: 'assistant', content: `T\n${placeholders}`, reasoning_content: ' ' }],
  ],
  [
    'assistant',
    [thinking, { type: 'thinking', thinking: 'So.' }, text],
    [{ role: 'assistant', content: 'T', reasoning_content: 'Hm.\nSo.' }],
  ],
  [
    'assistant',
    [thinking, use],
    [{ role: 'assistant', content: null, reasoning_content: 'Hm.', tool_calls: [wiredCall] }],
  ],
  ['assistant', [thinking], []],
  ['assistant', [], []],
  ['user', [], [{ role: 'user', content: '(empty message)' }]],
  ['system', [], []],
  ['tool', [result], [wiredResult]],
  [
    'tool',
    [result, text, image],
    [wiredResult, { role: 'user', content: [{ type: 'text', text: 'T' }, parts.image] }],
  ],
])('a message of the role %s is formatted with the blocks %j', (role, content, wired) => {
  expect(wire(role, ...content)).toEqual(wired);
});

test.each<[given: ToolChoice, wired: unknown]>([
  ['auto', 'auto'],
  ['none', 'none'],
  ['required', 'required'],
  [{ name: 'f' }, { type: 'function', function: { name: 'f' } }],
])('the tool choice %j is formatted', (toolChoice, wired) => {
  expect(
    format({ toolChoice, tools: [{ name: 'f', description: 'F', parameters: {} }] })['tool_choice'],
  ).toEqual(wired);
});

test.each([true, false])('`strict: %s` applies to each tool separately', (strict) => {
  const parameters = {
    type: 'object',
    properties: { a: { type: 'string', enum: ['東京'] } },
    required: ['a'],
    additionalProperties: false,
  };
  const tools = [
    { name: 'f', description: 'F', parameters, strict },
    { name: 'g', description: 'G', parameters },
  ];
  expect(format({ tools })['tools']).toEqual([
    { type: 'function', function: { name: 'f', description: 'F', parameters, strict } },
    { type: 'function', function: { name: 'g', description: 'G', parameters } },
  ]);
});

test('thinking that came in reasoning_content is sent back in reasoning_content', () => {
  const decoder = new OpenAiDecoder();
  const deltas: ModelDelta[] = [];
  for (const reasoning of ['Let me ', 'think.'])
    decoder.decode({ choices: [{ delta: { reasoning_content: reasoning } }] }, deltas);
  const thought = deltas.map((delta) => (delta.type === 'thinking' ? delta.delta : '')).join('');
  expect(wire('assistant', { type: 'thinking', thinking: thought }, text)).toEqual([
    { role: 'assistant', content: 'T', reasoning_content: 'Let me think.' },
  ]);
});
