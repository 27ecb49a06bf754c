import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import { assistantMessage, toolMessage, userMessage, type ContentBlock, type Msg } from './msg.ts';
import { parseMessages, parseHistory } from './validate-message.ts';

const valid = {
  id: 'm1',
  role: 'user',
  content: [{ type: 'text', text: 'hi' }],
  createdAt: '2026-01-02T03:04:05.678Z',
};
const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

function errorOf(value: unknown): AgentError {
  try {
    parseMessages(value);
  } catch (error) {
    if (AgentError.is(error)) return error;
    throw error;
  }
  throw new Error('accepted');
}

test('parseMessages() accepts every kind of message that the library creates, also from JSON', () => {
  const blocks: readonly ContentBlock[] = [
    {
      type: 'thinking',
      thinking: 't',
      signature: 's',
      providerMetadata: { openai: { itemId: 'rs_1', list: [1, null, true] } },
    },
    { type: 'text', text: '東京' },
    {
      type: 'image',
      source: { type: 'url', url: 'https://example.com/a.png', mediaType: 'image/png' },
    },
    {
      type: 'file',
      source: { type: 'base64', mediaType: 'application/pdf', data: 'AAAA' },
      name: 'a.pdf',
    },
    {
      type: 'tool_use',
      id: 'c1',
      name: 'tool',
      input: { deep: [{ a: 1 }] },
      raw: '{"deep": [{"a": 1}]}',
    },
  ];
  const messages = [
    userMessage('hi', { name: 'Ann', metadata: { turn: 1 } }),
    assistantMessage(blocks),
    toolMessage({
      type: 'tool_result',
      toolUseId: 'c1',
      name: 'tool',
      output: blocks.slice(1, 3),
      state: 'success',
    }),
    toolMessage({
      type: 'tool_result',
      toolUseId: 'c2',
      name: 'tool',
      output: 'failed',
      state: 'error',
    }),
  ];
  expect(parseMessages(messages)).toBe(messages);
  expect(parseMessages(JSON.parse(JSON.stringify(messages)))).toEqual(messages);
});

test.for([
  [null, 'The messages must be an array'],
  [[valid, 'text'], 'Message 1: the message must be an object'],
  [[{ ...valid, id: '' }], 'Message 0 (id ""): id must be a string that is not empty'],
  [[{ ...valid, id: 7 }], 'Message 0: id must be a string that is not empty'],
  [
    [{ ...valid, role: 'admin' }],
    'Message 0 (id "m1"): role must be one of system, user, assistant, tool',
  ],
  [[{ ...valid, name: null }], 'Message 0 (id "m1"): name must be a string'],
  [[{ ...valid, metadata: [] }], 'Message 0 (id "m1"): metadata must be a JSON object'],
  [
    [{ ...valid, metadata: { at: new Date(0) } }],
    'Message 0 (id "m1"): metadata must be a JSON object',
  ],
  [
    [{ ...valid, metadata: { run: () => 1 } }],
    'Message 0 (id "m1"): metadata must be a JSON object',
  ],
  [[{ ...valid, metadata: cycle }], 'Message 0 (id "m1"): metadata must be a JSON object'],
  [
    [{ ...valid, createdAt: 'yesterday' }],
    'Message 0 (id "m1"): createdAt must be an ISO 8601 time',
  ],
  [
    [{ ...valid, content: 'hi' }],
    'Message 0 (id "m1"): content must be an array of content blocks',
  ],
  [[{ ...valid, content: [null] }], 'Message 0 (id "m1"): content[0] must be a content block'],
  [
    [{ ...valid, content: [{ type: 'html' }] }],
    'Message 0 (id "m1"): content[0].type must be the type of a content block',
  ],
  [
    [{ ...valid, content: [...valid.content, { type: 'text' }] }],
    'Message 0 (id "m1"): content[1].text must be a string',
  ],
  [
    [{ ...valid, content: [{ type: 'image', source: { type: 'path' } }] }],
    'Message 0 (id "m1"): content[0].source.type must be "url" or "base64"',
  ],
  [
    [{ ...valid, content: [{ type: 'audio', source: { type: 'base64', data: 'AA' } }] }],
    'Message 0 (id "m1"): content[0].source.mediaType must be a string',
  ],
  [
    [{ ...valid, content: [{ type: 'tool_use', id: 'c', name: 't' }] }],
    'Message 0 (id "m1"): content[0].input must be a JSON value',
  ],
  [
    [{ ...valid, content: [{ type: 'tool_use', id: 'c', name: 't', input: { n: Number.NaN } }] }],
    'Message 0 (id "m1"): content[0].input must be a JSON value',
  ],
  [
    [
      {
        ...valid,
        content: [{ type: 'tool_result', toolUseId: 'c', name: 't', state: 'done', output: '' }],
      },
    ],
    'Message 0 (id "m1"): content[0].state must be one of success, error, denied, interrupted',
  ],
  [
    [
      {
        ...valid,
        content: [{ type: 'tool_result', toolUseId: 'c', name: 't', state: 'error', output: 5 }],
      },
    ],
    'Message 0 (id "m1"): content[0].output must be a string or an array of content blocks',
  ],
  [
    [
      {
        ...valid,
        content: [
          {
            type: 'tool_result',
            toolUseId: 'c',
            name: 't',
            state: 'error',
            output: [{ type: 'text', text: 1 }],
          },
        ],
      },
    ],
    'Message 0 (id "m1"): content[0].output[0].text must be a string',
  ],
  [
    [{ ...valid, content: [{ type: 'text', text: '', providerMetadata: 'x' }] }],
    'Message 0 (id "m1"): content[0].providerMetadata must be a JSON object',
  ],
] as const)('parseMessages() rejects %j', ([value, message]) => {
  expect(errorOf(value)).toMatchObject({ code: 'INVALID_MESSAGE', message });
});

const use = { type: 'tool_use', id: 'c', name: 't', input: {} };
const result = { type: 'tool_result', toolUseId: 'c', name: 't', state: 'success', output: '' };
const source = { type: 'base64', mediaType: 'image/png', data: 'AA' };

/** Each case breaks one field of a block. Columns: role, block, field, expected value. */
test.for([
  ['assistant', { type: 'thinking' }, 'thinking', 'a string'],
  ['assistant', { type: 'thinking', thinking: '', signature: 1 }, 'signature', 'a string'],
  ['assistant', { ...use, id: 1 }, 'id', 'a string that is not empty'],
  ['assistant', { ...use, id: '' }, 'id', 'a string that is not empty'],
  ['assistant', { ...use, name: undefined }, 'name', 'a string'],
  ['assistant', { ...use, raw: {} }, 'raw', 'a string'],
  ['assistant', { ...use, providerMetadata: [] }, 'providerMetadata', 'a JSON object'],
  ['tool', { ...result, toolUseId: undefined }, 'toolUseId', 'a string that is not empty'],
  ['tool', { ...result, toolUseId: '' }, 'toolUseId', 'a string that is not empty'],
  ['tool', { ...result, name: 7 }, 'name', 'a string'],
  ['tool', { ...result, state: undefined }, 'state', 'one of success, error, denied, interrupted'],
  ['tool', { ...result, output: [{ type: 'image' }] }, 'output[0].source', 'an object'],
  [
    'tool',
    { ...result, output: [{ ...result, output: [{ type: 'text' }] }] },
    'output[0].output[0].text',
    'a string',
  ],
  ['user', { type: 'image' }, 'source', 'an object'],
  ['user', { type: 'image', source: { type: 'url' } }, 'source.url', 'a string'],
  [
    'user',
    { type: 'video', source: { type: 'url', url: '', mediaType: 1 } },
    'source.mediaType',
    'a string',
  ],
  ['user', { type: 'file', source: { ...source, data: undefined } }, 'source.data', 'a string'],
  ['user', { type: 'image', source, name: 1 }, 'name', 'a string'],
  ['user', { text: 'no type' }, 'type', 'the type of a content block'],
] as const)(
  'a message of role %s with the block %j is rejected',
  ([role, block, field, expected]) => {
    expect(errorOf([{ ...valid, role, content: [block] }])).toMatchObject({
      message: `Message 0 (id "m1"): content[0].${field} must be ${expected}`,
      details: { index: 0, id: 'm1', field: `content[0].${field}` },
    });
  },
);

test.for([
  ['user', use, 'in a message with role assistant, because it is a tool_use'],
  ['system', use, 'in a message with role assistant, because it is a tool_use'],
  ['tool', use, 'in a message with role assistant, because it is a tool_use'],
  ['user', result, 'in a message with role tool, because it is a tool_result'],
  ['assistant', result, 'in a message with role tool, because it is a tool_result'],
  ['system', result, 'in a message with role tool, because it is a tool_result'],
] as const)('a message of role %s must not contain %j', ([role, block, expected]) => {
  expect(errorOf([{ ...valid, role, content: [...valid.content, block] }])).toMatchObject({
    code: 'INVALID_MESSAGE',
    message: `Message 0 (id "m1"): content[1] must be ${expected}`,
    details: { field: 'content[1]' },
  });
});

test.for([[[]], [[{ type: 'text', text: 'x' }]]])(
  'a tool message without a tool result is rejected: %j',
  ([content]) => {
    expect(errorOf([{ ...valid, role: 'tool', content }]).message).toBe(
      'Message 0 (id "m1"): content must be blocks that include a tool_result, because the role is tool',
    );
  },
);

test('parseMessages() accepts common forms of histories from other libraries', () => {
  const messages = [
    {
      ...valid,
      role: 'system',
      content: [
        { type: 'text', text: '' },
        { type: 'image', source },
      ],
    },
    { ...valid, content: [] },
    { ...valid, role: 'assistant', content: [], metadata: {}, name: '' },
    {
      ...valid,
      role: 'assistant',
      content: [
        { ...use, input: null, raw: '{' },
        { type: 'text', text: 'afterwards' },
      ],
    },
    {
      ...valid,
      role: 'tool',
      content: [result, { ...result, toolUseId: 'd' }, { type: 'text', text: 'both' }],
    },
    {
      ...valid,
      role: 'tool',
      content: [{ ...result, output: [{ type: 'thinking', thinking: '' }, use] }],
    },
    { ...valid, createdAt: '2026-01-02T03:04:05+09:00', extra: { of: 'another library' } },
  ];
  expect(parseMessages(messages)).toBe(messages);
});

test('the details of the error contain index, id and field', () => {
  expect(errorOf([valid, { ...valid, id: 'm2', content: [{ type: 'text' }] }]).details).toEqual({
    index: 1,
    id: 'm2',
    field: 'content[0].text',
  });
});

test('a tool result that contains itself is rejected', () => {
  const endless: Record<string, unknown> = {
    type: 'tool_result',
    toolUseId: 'c',
    name: 't',
    state: 'success',
  };
  endless['output'] = [endless];
  expect(errorOf([{ ...valid, content: [endless] }]).code).toBe('INVALID_MESSAGE');
});

test.for([
  [{ createdAt: 2026 }, 'createdAt'],
  [{ createdAt: '2026' }, 'createdAt'],
  [{ createdAt: '2026-13-45T99:99:99Z' }, 'createdAt'],
  [{ metadata: { list: [1, () => {}] } }, 'metadata'],
  [{ metadata: { inner: { at: new Date(0) } } }, 'metadata'],
] as const)('a field that is only partly valid is rejected: %o', ([fields, field]) => {
  expect(errorOf([{ ...valid, ...fields }]).details).toMatchObject({ index: 0, id: 'm1', field });
});

test('the error for a value that is not a message has an index and no id', () => {
  expect(errorOf([valid, 'x'])).toMatchObject({
    message: 'Message 1: the message must be an object',
    details: { index: 1, field: '' },
  });
  expect(errorOf([null]).details).not.toHaveProperty('id');
});

test('metadata may contain undefined values and objects without a prototype', () => {
  const bare: object = Object.assign(Object.create(null), { a: 1 });
  expect(parseMessages([{ ...valid, metadata: { gone: undefined, bare } }])).toHaveLength(1);
});

test('a cyclic array in metadata is rejected, and so is a block that the role does not allow', () => {
  const list: unknown[] = [];
  list.push(list);
  expect(errorOf([{ ...valid, metadata: { list } }]).details).toMatchObject({ field: 'metadata' });
  const asks = { type: 'tool_use', id: 'c', name: 'f', input: {} };
  const answers = { type: 'tool_result', toolUseId: 'c', name: 'f', output: '', state: 'success' };
  for (const block of [asks, answers])
    expect(errorOf([{ ...valid, content: [block] }]).details).toMatchObject({
      field: 'content[0]',
    });
});

const asks = (id: string, ...toolUseIds: readonly string[]): Msg =>
  assistantMessage(
    [
      { type: 'text', text: '' },
      ...toolUseIds.map(
        (toolUseId) => ({ type: 'tool_use', id: toolUseId, name: 't', input: {} }) as const,
      ),
    ],
    { id },
  );
const gives = (id: string, toolUseId: string): Msg =>
  toolMessage({ type: 'tool_result', toolUseId, name: 't', output: '', state: 'success' }, { id });

test('parseHistory() accepts open tool calls, results without a tool call and several replies in a row', () => {
  const history = [
    gives('r0', 'gone'),
    userMessage('hi', { id: 'u' }),
    asks('a', '1', '2'),
    gives('r2', '2'),
    asks('b', '3'),
  ];
  expect(parseHistory(history)).toBe(history);
  expect(parseHistory([])).toEqual([]);
});

test.for([
  [
    [userMessage('hi', { id: 'm' }), asks('a'), userMessage('you', { id: 'm' })],
    2,
    'm',
    'id',
    'different from the id of message 0',
  ],
  [
    [asks('a', '1'), gives('r', '1'), asks('b', '2', '1')],
    2,
    'b',
    'content[2].id',
    'different from the id of a tool call in message 0',
  ],
  [
    [asks('a', '1', '1')],
    0,
    'a',
    'content[2].id',
    'different from the id of a tool call in message 0',
  ],
] as const)('parseHistory() rejects a repeated id %#', ([history, index, id, field, expected]) => {
  expect(() => parseHistory(history)).toThrow(
    expect.objectContaining({
      code: 'INVALID_MESSAGE',
      message: `Message ${index} (id "${id}"): ${field} must be ${expected}`,
      details: { index, id, field },
    }),
  );
});

test('parseHistory() also validates each message', () => {
  expect(() => parseHistory([userMessage('hi', { id: '' })])).toThrow(
    'id must be a string that is not empty',
  );
});
