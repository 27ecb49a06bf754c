import { expect, test } from 'vitest';
import { createMessage, type ContentBlock, type MediaBlock, type Role } from '../../message/msg.ts';
import { imageDetailFields, withOrigin } from '../../message/provider-metadata.ts';
import type { ModelRequest, ToolSchema, ModelDelta, ToolChoice } from '../chat-model.ts';
import { objectInput } from '../../schema/schema.ts';
import { openAiFormatter, type OpenAiFormatterOptions } from './openai-formatter.ts';
import { readsInLaterRequests } from '@test/support/model-outcome.ts';
import { OpenAiDecoder } from './openai-decoder.ts';

const plain: OpenAiFormatterOptions = {
  model: 'm',
  features: { tools: true, media: ['image', 'audio', 'video', 'file'] },
  maxTokensField: 'max_tokens',
  origin: 'models.test',
  sendThinking: false,
  includeUsage: true,
};

const textOnly: Partial<OpenAiFormatterOptions> = { features: { tools: true, media: [] } };

const format = (
  request: Partial<ModelRequest>,
  options: Partial<OpenAiFormatterOptions> = {},
): Record<string, unknown> =>
  JSON.parse(
    openAiFormatter({ ...plain, ...options }).format({ messages: [], tools: [], ...request }),
  );

const wire = (
  role: Role,
  content: string | readonly ContentBlock[],
  options?: Partial<OpenAiFormatterOptions>,
  name?: string,
): unknown =>
  format({ messages: [createMessage(role, content, name === undefined ? {} : { name })] }, options)[
    'messages'
  ];

const text = (value: string): ContentBlock => ({ type: 'text', text: value });

const media = (type: MediaBlock['type'], mediaType: string, name?: string): MediaBlock => ({
  type,
  source: { type: 'base64', mediaType, data: 'QUJD' },
  ...(name === undefined ? {} : { name }),
});

const linked = (type: MediaBlock['type'], url: string, name?: string): MediaBlock => ({
  type,
  source: { type: 'url', url },
  ...(name === undefined ? {} : { name }),
});

const lookup: ToolSchema = {
  name: 'lookup',
  description: 'Looks up.',
  parameters: { type: 'object', properties: { q: { type: 'string' } } },
};

test('the OpenAI formatter formats a plain request', () => {
  expect(
    format({
      messages: [
        createMessage('system', 'Be brief.'),
        createMessage('user', '東京?'),
        createMessage('assistant', 'Hi'),
      ],
    }),
  ).toEqual({
    model: 'm',
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: '東京?' },
      { role: 'assistant', content: 'Hi' },
    ],
  });
});

test('the OpenAI formatter formats the options of a request', () => {
  const request = {
    maxTokens: 5,
    temperature: 0,
    topP: 0.5,
    seed: 7,
    stop: ['END'],
    providerOptions: { logprobs: true, stream_options: null },
  };
  expect(format(request)).toEqual({
    model: 'm',
    stream: true,
    stream_options: null,
    max_tokens: 5,
    temperature: 0,
    top_p: 0.5,
    seed: 7,
    stop: ['END'],
    logprobs: true,
  });
  expect(
    format(
      { maxTokens: 5, stop: [] },
      { maxTokensField: 'max_completion_tokens', includeUsage: false },
    ),
  ).toEqual({
    model: 'm',
    stream: true,
    max_completion_tokens: 5,
  });
});

test('provider options take precedence, and each field is sent once', () => {
  const body = openAiFormatter(plain).format({
    messages: [createMessage('user', 'a')],
    tools: [lookup],
    providerOptions: { model: 'other', tools: [], messages: [] },
  });
  expect(JSON.parse(body)).toMatchObject({ model: 'other', tools: [], messages: [] });
  expect(body.match(/"(tools|messages|model)":/g)).toHaveLength(3);
});

test('the tools and the tool choice are sent', () => {
  expect(
    format({
      tools: [
        lookup,
        {
          ...lookup,
          name: 'strict',
          parameters: objectInput({ a: { type: 'string' } }),
          strict: true,
        },
      ],
      toolChoice: { name: 'lookup' },
    }),
  ).toMatchObject({
    tools: [
      {
        type: 'function',
        function: { name: 'lookup', description: 'Looks up.', parameters: lookup.parameters },
      },
      { type: 'function', function: { name: 'strict', strict: true } },
    ],
    tool_choice: { type: 'function', function: { name: 'lookup' } },
  });
  expect(format({ tools: [lookup], toolChoice: 'required' })['tool_choice']).toBe('required');
  expect(format({ toolChoice: 'none' })).not.toHaveProperty('tool_choice');
  expect(format({})).not.toHaveProperty('tools');
});

test('a response schema is strict if every object is closed and requires every property', () => {
  const strictOf = (schema: ModelRequest['responseSchema'] & object): unknown =>
    (format({ responseSchema: schema })['response_format'] as { json_schema: { strict: boolean } })
      .json_schema.strict;
  const closed = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  };
  expect(format({ responseSchema: closed })['response_format']).toEqual({
    type: 'json_schema',
    json_schema: { name: 'response', schema: closed, strict: true },
  });
  expect(strictOf({ ...closed, required: [] })).toBe(false);
  const { required: _required, ...optional } = closed;
  expect(strictOf(optional)).toBe(false);
  expect(
    strictOf({ ...closed, properties: { ...closed.properties, extra: { type: 'string' } } }),
  ).toBe(false);
  expect(strictOf({ type: 'object', properties: {}, additionalProperties: false })).toBe(true);
  expect(strictOf({ ...closed, additionalProperties: true })).toBe(false);
  expect(
    strictOf({ ...closed, properties: { a: { type: 'array', items: { type: 'object' } } } }),
  ).toBe(false);
});

test('several text blocks are joined into one string', () => {
  expect(wire('user', [text('a'), text('b')])).toEqual([{ role: 'user', content: 'a\nb' }]);
  expect(wire('system', [text('a'), text('b')])).toEqual([{ role: 'system', content: 'a\nb' }]);
  expect(wire('assistant', [text('a'), text('b')])).toEqual([
    { role: 'assistant', content: 'a\nb' },
  ]);
});

test('media that the model supports are sent', () => {
  const content = [
    text('Look'),
    media('image', 'image/png'),
    linked('image', 'https://x.test/a.png'),
    { ...linked('image', 'https://x.test/b.png'), ...imageDetailFields('low') },
    { ...linked('image', 'https://x.test/c.png'), ...imageDetailFields('auto') },
    media('audio', 'audio/mpeg'),
    media('audio', 'audio/x-wav; rate=8000'),
    media('file', 'application/pdf', 'a.pdf'),
    linked('video', 'https://x.test/a.mp4'),
    linked('file', 'data:application/pdf;base64,QUJD', 'b.pdf'),
  ];
  expect(wire('user', content)).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
        { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
        { type: 'image_url', image_url: { url: 'https://x.test/b.png', detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://x.test/c.png' } },
        { type: 'input_audio', input_audio: { data: 'QUJD', format: 'mp3' } },
        { type: 'input_audio', input_audio: { data: 'QUJD', format: 'wav' } },
        {
          type: 'file',
          file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,QUJD' },
        },
        { type: 'video_url', video_url: { url: 'https://x.test/a.mp4' } },
        {
          type: 'file',
          file: { filename: 'b.pdf', file_data: 'data:application/pdf;base64,QUJD' },
        },
      ],
    },
  ]);
});

test('media that the model or the protocol does not support are sent as text, without their bytes', () => {
  const content = [
    media('image', 'image/png'),
    media('audio', 'audio/wav', 'voice.wav'),
    linked('video', 'https://x.test/a.mp4', 'a.mp4'),
    linked('image', 'data:image/png;base64,QUJD'),
    linked('image', 'data:image/svg+xml,<svg/>'),
  ];
  expect(wire('user', content, textOnly)).toEqual([
    {
      role: 'user',
      content:
        '[image: image/png]\n[audio: voice.wav]\n[video: a.mp4 https://x.test/a.mp4]\n[image: image/png]\n[image: inline]',
    },
  ]);
  expect(
    wire('user', [linked('audio', 'https://x.test/a.wav'), linked('file', 'https://x.test/a.pdf')]),
  ).toEqual([
    { role: 'user', content: '[audio: https://x.test/a.wav]\n[file: https://x.test/a.pdf]' },
  ]);
  expect(wire('assistant', [text('Here:'), media('image', 'image/png', 'cat.png')])).toEqual([
    { role: 'assistant', content: 'Here:\n[image: cat.png]' },
  ]);
});

test('the model’s own arguments of a tool call are sent if they are JSON', () => {
  const call = (raw?: string): ContentBlock => ({
    type: 'tool_use',
    id: 'c',
    name: 'f',
    input: { a: 1 },
    ...(raw === undefined ? {} : { raw }),
    providerMetadata: {
      ...withOrigin('models.test', { extra_content: { google: { thought_signature: 's' } } }),
      other: 1,
    },
  });
  const args = (raw?: string): unknown =>
    (wire('assistant', [call(raw)]) as [{ tool_calls: [{ function: { arguments: string } }] }])[0]
      .tool_calls[0].function.arguments;
  expect(wire('assistant', [text('Let me see.'), call()])).toEqual([
    {
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: [
        {
          id: 'c',
          type: 'function',
          function: { name: 'f', arguments: '{"a":1}' },
          extra_content: { google: { thought_signature: 's' } },
        },
      ],
    },
  ]);
  expect(wire('assistant', [call()])).toMatchObject([{ content: null }]);
  expect(args('{ "a": 1.0 }')).toBe('{ "a": 1.0 }');
  expect(args('{"a":')).toBe('{}');
  expect(args('')).toBe('{}');
  expect(wire('assistant', [{ type: 'tool_use', id: 'c', name: 'f', input: null }])).toMatchObject([
    { tool_calls: [{ function: { arguments: '{}' } }] },
  ]);
});

test('each tool result is sent as a message, with its media as text', () => {
  const result = (toolUseId: string, output: string | readonly ContentBlock[]): ContentBlock => ({
    type: 'tool_result',
    toolUseId,
    name: 'f',
    output,
    state: 'success',
  });
  const content = [
    result('a', 'sun'),
    result('b', [
      text('See'),
      linked('image', 'https://x.test/a.png'),
      media('image', 'image/png'),
    ]),
  ];
  const wired = [
    { role: 'tool', tool_call_id: 'a', content: 'sun' },
    {
      role: 'tool',
      tool_call_id: 'b',
      content: 'See\n[image: https://x.test/a.png]\n[image: image/png]',
    },
  ];
  expect(wire('tool', content)).toEqual(wired);
  expect(wire('user', [...content, text('And now?')])).toEqual([
    ...wired,
    { role: 'user', content: 'And now?' },
  ]);
  expect(wire('tool', [])).toEqual([]);
});

test('thinking is sent back only with `sendThinking`', () => {
  const content: ContentBlock[] = [{ type: 'thinking', thinking: 'Hm.' }, text('Yes')];
  expect(wire('assistant', content)).toEqual([{ role: 'assistant', content: 'Yes' }]);
  expect(wire('assistant', content, { sendThinking: true })).toEqual([
    { role: 'assistant', content: 'Yes', reasoning_content: 'Hm.' },
  ]);
});

test('the names of speakers are sent if the protocol allows them', () => {
  expect(wire('user', 'Hi', {}, 'ann_1')).toEqual([{ role: 'user', name: 'ann_1', content: 'Hi' }]);
  expect(wire('user', 'Hi', {}, '小明')).toEqual([{ role: 'user', name: '小明', content: 'Hi' }]);
  expect(wire('user', 'Hi', {}, 'Ann Lee')).toEqual([{ role: 'user', content: 'Hi' }]);
  expect(wire('assistant', 'Hi', {}, 'bot')).toEqual([{ role: 'assistant', content: 'Hi' }]);
});

test('a message is serialized once, in any number of requests', () => {
  expect(readsInLaterRequests(openAiFormatter(plain))).toBe(0);
});

const all: OpenAiFormatterOptions = {
  model: 'm',
  features: { tools: true, media: ['image', 'audio', 'video', 'file'] },
  maxTokensField: 'max_tokens',
  sendThinking: true,
  includeUsage: false,
};

const formatAll = (request: Partial<ModelRequest>): Record<string, unknown> =>
  JSON.parse(openAiFormatter(all).format({ messages: [], tools: [], ...request }));

const wireAll = (role: Role, ...content: readonly ContentBlock[]): unknown =>
  formatAll({ messages: [createMessage(role, content)] })['messages'];

const inline = (type: MediaBlock['type'], mediaType: string): MediaBlock => ({
  type,
  source: { type: 'base64', mediaType, data: 'QUJD' },
});

const textBlock: ContentBlock = { type: 'text', text: 'T' };
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
  output: [textBlock, image, audio, video, file],
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
    [textBlock, image, audio, video, file],
    [{ role: 'system', content: `T\n${placeholders}` }],
  ],
  ['user', [textBlock, thinking], [{ role: 'user', content: 'T' }]],
  ['user', [image], [{ role: 'user', content: [parts.image] }]],
  ['user', [audio], [{ role: 'user', content: [parts.audio] }]],
  ['user', [video], [{ role: 'user', content: [parts.video] }]],
  ['user', [file], [{ role: 'user', content: [parts.file] }]],
  ['user', [textBlock, result], [wiredResult, { role: 'user', content: 'T' }]],
  [
    'assistant',
    [textBlock, image, audio, video, file],
    [{ role: 'assistant', content: `T\n${placeholders}`, reasoning_content: ' ' }],
  ],
  [
    'assistant',
    [thinking, { type: 'thinking', thinking: 'So.' }, textBlock],
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
    [result, textBlock, image],
    [wiredResult, { role: 'user', content: [{ type: 'text', text: 'T' }, parts.image] }],
  ],
])('a message of the role %s is formatted with the blocks %j', (role, content, wired) => {
  expect(wireAll(role, ...content)).toEqual(wired);
});

test.each<[given: ToolChoice, wired: unknown]>([
  ['auto', 'auto'],
  ['none', 'none'],
  ['required', 'required'],
  [{ name: 'f' }, { type: 'function', function: { name: 'f' } }],
])('the tool choice %j is formatted', (toolChoice, wired) => {
  expect(
    formatAll({ toolChoice, tools: [{ name: 'f', description: 'F', parameters: {} }] })[
      'tool_choice'
    ],
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
  expect(formatAll({ tools })['tools']).toEqual([
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
  expect(wireAll('assistant', { type: 'thinking', thinking: thought }, textBlock)).toEqual([
    { role: 'assistant', content: 'T', reasoning_content: 'Let me think.' },
  ]);
});
