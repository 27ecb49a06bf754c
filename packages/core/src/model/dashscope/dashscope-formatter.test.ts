import { expect, test } from 'vitest';
import { createMessage, type ContentBlock, type MediaBlock, type Role } from '../../message/msg.ts';
import type { ModelRequest, ToolSchema } from '../chat-model.ts';
import { dashScopeFormatter, type DashScopeFormat } from './dashscope-formatter.ts';
import { readsInLaterRequests } from '@test/support/model-outcome.ts';

const plain: DashScopeFormat = {
  model: 'qwen-plus',
  features: { tools: true, media: ['image', 'audio', 'video', 'file'] },
  endpoint: undefined,
  enableThinking: undefined,
  thinkingBudget: undefined,
};

interface Body {
  readonly model: string;
  readonly input: { readonly messages: readonly unknown[] };
  readonly parameters: Readonly<Record<string, unknown>>;
}

const format = (request: Partial<ModelRequest>, options: Partial<DashScopeFormat> = {}): Body =>
  JSON.parse(
    dashScopeFormatter({ ...plain, ...options }).format({ messages: [], tools: [], ...request }),
  );

const wire = (
  role: Role,
  content: string | readonly ContentBlock[],
  options?: Partial<DashScopeFormat>,
): readonly unknown[] =>
  format({ messages: [createMessage(role, content, { name: 'ann' })] }, options).input.messages;

const parameters = (
  request: Partial<ModelRequest>,
  options?: Partial<DashScopeFormat>,
): Body['parameters'] => format(request, options).parameters;

const multimodal: Partial<DashScopeFormat> = { endpoint: 'multimodal' };

const text = (value: string): ContentBlock => ({ type: 'text', text: value });

const inline = (type: MediaBlock['type'], mediaType: string): MediaBlock => ({
  type,
  source: { type: 'base64', mediaType, data: 'QUJD' },
});

const linked = (type: MediaBlock['type'], url: string): MediaBlock => ({
  type,
  source: { type: 'url', url },
});

const call = (raw?: string): ContentBlock => ({
  type: 'tool_use',
  id: 'c1',
  name: 'lookup',
  input: { q: '東京' },
  ...(raw === undefined ? {} : { raw }),
});

const result = (toolUseId: string, output: string | readonly ContentBlock[]): ContentBlock => ({
  type: 'tool_result',
  toolUseId,
  name: 'lookup',
  output,
  state: 'success',
});

const lookup: ToolSchema = {
  name: 'lookup',
  description: 'Looks up.',
  parameters: { type: 'object' },
  strict: true,
};

test('the DashScope formatter formats a plain request', () => {
  const messages = [
    createMessage('system', 'Be brief.'),
    createMessage('user', '東京?', { name: 'ann' }),
    createMessage('assistant', 'Hi'),
  ];
  const settings = { maxTokens: 5, temperature: 0, topP: 0.5, seed: 7, stop: ['END'] };
  expect(format({ messages, ...settings })).toEqual({
    model: 'qwen-plus',
    input: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: '東京?' },
        { role: 'assistant', content: 'Hi' },
      ],
    },
    parameters: {
      result_format: 'message',
      incremental_output: true,
      max_tokens: 5,
      temperature: 0,
      top_p: 0.5,
      seed: 7,
      stop: ['END'],
    },
  });
  expect(parameters({ stop: [] })).not.toHaveProperty('stop');
});

test('`enableThinking` turns thinking on or off, and `thinkingBudget` turns it on', () => {
  expect(parameters({})).not.toHaveProperty('enable_thinking');
  expect(parameters({}, { enableThinking: false })).toMatchObject({ enable_thinking: false });
  expect(parameters({}, { enableThinking: true })).toMatchObject({ enable_thinking: true });
  expect(parameters({}, { thinkingBudget: 100 })).toMatchObject({
    enable_thinking: true,
    thinking_budget: 100,
  });
});

test('thinking of earlier replies is not sent', () => {
  const content: ContentBlock[] = [{ type: 'thinking', thinking: 'Hm.' }, text('Yes')];
  expect(wire('assistant', content)).toEqual([{ role: 'assistant', content: 'Yes' }]);
  expect(wire('assistant', content, multimodal)).toEqual([
    { role: 'assistant', content: [{ text: 'Yes' }] },
  ]);
});

test('tool calls without text are sent with an empty text, and with the model’s own arguments if they are JSON', () => {
  const wired = (args: string): unknown => ({
    id: 'c1',
    type: 'function',
    function: { name: 'lookup', arguments: args },
  });
  expect(wire('assistant', [call()])).toEqual([
    { role: 'assistant', content: '', tool_calls: [wired('{"q":"東京"}')] },
  ]);
  expect(wire('assistant', [call('{ "q": 1.0 }')])).toMatchObject([
    { tool_calls: [wired('{ "q": 1.0 }')] },
  ]);
  expect(wire('assistant', [call('{"q":')])).toMatchObject([{ tool_calls: [wired('{}')] }]);
  expect(wire('assistant', [call()], multimodal)).toEqual([
    { role: 'assistant', content: [{ text: '' }], tool_calls: [wired('{"q":"東京"}')] },
  ]);
});

test('each tool result is sent as a message with the id of the tool call and the name of the tool', () => {
  const content = [
    result('a', 'sun'),
    result('b', [text('See'), linked('file', 'https://x.test/a.pdf')]),
  ];
  const wired = [
    { role: 'tool', tool_call_id: 'a', name: 'lookup', content: 'sun' },
    {
      role: 'tool',
      tool_call_id: 'b',
      name: 'lookup',
      content: 'See\n[file: https://x.test/a.pdf]',
    },
  ];
  expect(wire('tool', content)).toEqual(wired);
  expect(wire('user', [...content, text('And now?')])).toEqual([
    ...wired,
    { role: 'user', content: 'And now?' },
  ]);
  expect(wire('tool', [])).toEqual([]);
  expect(wire('tool', [result('a', 'sun'), text('More')])).toEqual([
    wired[0],
    { role: 'user', content: 'More' },
  ]);
  expect(
    wire('tool', [
      result('a', 'sun'),
      result('b', [text('See'), linked('image', 'https://x.test/a.png')]),
    ]),
  ).toEqual([
    { role: 'tool', tool_call_id: 'a', name: 'lookup', content: [{ text: 'sun' }] },
    {
      role: 'tool',
      tool_call_id: 'b',
      name: 'lookup',
      content: [{ text: 'See' }, { image: 'https://x.test/a.png' }],
    },
  ]);
});

test('supported media are sent as parts with their URLs, and files are sent as text', () => {
  const content = [
    text('Look'),
    inline('image', 'image/png'),
    linked('audio', 'https://x.test/a.wav'),
    inline('audio', 'audio/mpeg'),
    linked('video', 'https://x.test/a.mp4'),
    linked('file', 'https://x.test/a.pdf'),
  ];
  expect(wire('user', content)).toEqual([
    {
      role: 'user',
      content: [
        { text: 'Look' },
        { image: 'data:image/png;base64,QUJD' },
        { audio: 'https://x.test/a.wav' },
        { audio: 'data:audio/mpeg;base64,QUJD' },
        { video: 'https://x.test/a.mp4' },
        { text: '[file: https://x.test/a.pdf]' },
      ],
    },
  ]);
});

test('media that the model or the service does not support are sent as text, without their bytes', () => {
  const content = [
    text('Look'),
    inline('image', 'image/png'),
    linked('audio', 'https://x.test/a.wav'),
  ];
  const words = 'Look\n[image: image/png]\n[audio: https://x.test/a.wav]';
  expect(wire('user', content, { features: { tools: true, media: [] } })).toEqual([
    { role: 'user', content: words },
  ]);
  expect(wire('user', content, { endpoint: 'text' })).toEqual([{ role: 'user', content: words }]);
  expect(wire('user', content, { features: { tools: true, media: ['audio'] } })).toEqual([
    {
      role: 'user',
      content: [
        { text: 'Look' },
        { text: '[image: image/png]' },
        { audio: 'https://x.test/a.wav' },
      ],
    },
  ]);
});

test('a single medium in any message sends the whole request to the multimodal service', () => {
  const formatter = dashScopeFormatter(plain);
  const request = (...content: readonly ContentBlock[]): ModelRequest => ({
    messages: [createMessage('system', 'Be brief.'), createMessage('user', content)],
    tools: [],
  });
  const seen = request(linked('image', 'https://x.test/a.png'));
  expect(formatter.endpointOf(seen)).toBe('multimodal');
  expect(JSON.parse(formatter.format(seen)).input.messages[0]).toEqual({
    role: 'system',
    content: [{ text: 'Be brief.' }],
  });
  expect(
    formatter.endpointOf(request(result('a', [linked('image', 'https://x.test/a.png')]))),
  ).toBe('multimodal');
  expect(formatter.endpointOf(request(text('Hi'), linked('file', 'https://x.test/a.pdf')))).toBe(
    'text',
  );
  expect(dashScopeFormatter({ ...plain, endpoint: 'text' }).endpointOf(seen)).toBe('text');
  expect(
    dashScopeFormatter({ ...plain, endpoint: 'multimodal' }).endpointOf(request(text('Hi'))),
  ).toBe('multimodal');
});

test('the tools and the tool choice are sent', () => {
  const forced = { type: 'function', function: { name: 'lookup' } };
  const tools = [lookup];
  expect(parameters({ tools, toolChoice: { name: 'lookup' } })).toMatchObject({
    tools: [
      {
        type: 'function',
        function: {
          name: 'lookup',
          description: 'Looks up.',
          parameters: { type: 'object', properties: {} },
        },
      },
    ],
    tool_choice: forced,
  });
  expect(parameters({ tools })['tools']).toEqual([
    {
      type: 'function',
      function: {
        name: 'lookup',
        description: 'Looks up.',
        parameters: { type: 'object', properties: {} },
      },
    },
  ]);
  expect(parameters({ tools, toolChoice: 'none' })).toMatchObject({ tool_choice: 'none' });
  expect(parameters({ tools, toolChoice: 'required' })).toMatchObject({ tool_choice: 'auto' });
  expect(parameters({ tools })).not.toHaveProperty('tool_choice');
  expect(parameters({ toolChoice: 'auto' })).not.toHaveProperty('tool_choice');
});

test('no particular tool is forced on a model that thinks', () => {
  const request: Partial<ModelRequest> = { tools: [lookup], toolChoice: { name: 'lookup' } };
  expect(parameters(request, { enableThinking: true })['tool_choice']).toBe('auto');
  expect(parameters(request, { thinkingBudget: 9 })['tool_choice']).toBe('auto');
  expect(
    parameters({ ...request, providerOptions: { enable_thinking: true } })['tool_choice'],
  ).toBe('auto');
  expect(
    parameters(
      { ...request, providerOptions: { enable_thinking: false } },
      { enableThinking: true },
    )['tool_choice'],
  ).toEqual({
    type: 'function',
    function: { name: 'lookup' },
  });
});

test('a response schema is sent', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  };
  expect(parameters({ responseSchema: schema })['response_format']).toEqual({
    type: 'json_schema',
    json_schema: { name: 'response', schema, strict: true },
  });
});

test('provider options become parameters and take precedence', () => {
  const request = {
    maxTokens: 5,
    tools: [lookup],
    providerOptions: { seed: 1, max_tokens: 6, tools: [], enable_search: true },
  };
  expect(parameters(request)).toEqual({
    result_format: 'message',
    incremental_output: true,
    max_tokens: 6,
    seed: 1,
    tools: [],
    enable_search: true,
  });
});

test.each([{ incremental_output: false }, { result_format: 'text' }])(
  'the provider options %j are rejected, because they would make the reply unreadable',
  (providerOptions) => {
    expect(() => format({ providerOptions })).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        message: expect.stringContaining(`providerOptions.${Object.keys(providerOptions)[0]}`),
      }),
    );
  },
);

test('a message is serialized once for each service, in any number of requests', () => {
  expect(readsInLaterRequests(dashScopeFormatter({ ...plain, ...multimodal }))).toBe(0);
});

test('media inside results are sent, and a model that takes none gets placeholders', () => {
  const image: ContentBlock = {
    type: 'image',
    source: { type: 'base64', mediaType: 'image/x', data: 'QUJD' },
    name: 'a.png',
  };
  const photos: ContentBlock = {
    type: 'tool_result',
    toolUseId: '1',
    name: 'snap',
    output: [{ type: 'text', text: 'a photo' }, image],
    state: 'success',
  };
  const sent = (media: MediaBlock['type'][]) =>
    wire('tool', [photos], { ...multimodal, features: { tools: true, media } })[0];
  expect(sent(['image'])).toMatchObject({
    role: 'tool',
    content: [{ text: 'a photo' }, { image: 'data:image/x;base64,QUJD' }],
  });
  expect(sent([])).toMatchObject({
    role: 'tool',
    content: [{ text: 'a photo' }, { text: '[image: a.png]' }],
  });
});
