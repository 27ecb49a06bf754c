import { describe, expect, test, vi } from 'vitest';
import { boundEndpoint, type Bound, type Place } from '../../test-support/both-bindings.ts';
import { pay } from '../../test-support/plain-tools.ts';
import { postRoutes } from '../../test-support/post-routes.ts';
import { llmProxy } from '../llm/llm-proxy.ts';

type Body = object | string;
type Row = readonly [
  what: string,
  path: string,
  body: Body,
  status: number,
  code: string,
  headers?: Record<string, string>,
];

const user = { role: 'user', content: 'Hi' };
const ui = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
const chat = (more: object = {}): object => ({ id: 'a', messages: [ui], ...more });
const run = (more: object = {}): object => ({ sessionId: 'a', input: 'Hi', ...more });
const v1 = (more: object = {}): object => ({ model: 'offline', messages: [user], ...more });
const fn = (more: object = {}): object => ({
  tools: [{ type: 'function', function: { name: 'f', ...more } }],
});
const part = (content: unknown): object => v1({ messages: [{ role: 'user', content }] });
const decided = (more: object): object =>
  chat({
    messages: [
      { id: 'a1', role: 'assistant', parts: [{ type: 'tool-pay', toolCallId: 'c1', ...more }] },
    ],
  });
const deep = (levels: number): string =>
  `{"id":"a","messages":${'['.repeat(levels)}${']'.repeat(levels)}}`;
const toolMessage = (more: object): object => ({
  role: 'tool',
  tool_call_id: 'c',
  content: 'x',
  ...more,
});

const rows: readonly Row[] = [
  // Chats, runs, completions and the proxy: body, content type, origin and authorization.
  ...postRoutes.flatMap((path): Row[] => [
    [`${path}: an empty body`, path, '', 400, 'INVALID_INPUT'],
    [
      `${path}: truncated JSON`,
      path,
      '{"model":"offline","messages":[{"role":"user"',
      400,
      'INVALID_INPUT',
    ],
    [`${path}: a list`, path, '[]', 400, 'INVALID_INPUT'],
    [`${path}: null`, path, 'null', 400, 'INVALID_INPUT'],
    [`${path}: a string`, path, '"x"', 400, 'INVALID_INPUT'],
    [`${path}: an object without fields`, path, {}, 400, 'INVALID_INPUT'],
    [
      `${path}: another media type`,
      path,
      '{}',
      400,
      'INVALID_INPUT',
      { 'content-type': 'text/plain' },
    ],
    [
      `${path}: a form`,
      path,
      'id=a',
      400,
      'INVALID_INPUT',
      { 'content-type': 'application/x-www-form-urlencoded' },
    ],
    [
      `${path}: a media type that only begins like JSON`,
      path,
      '{}',
      400,
      'INVALID_INPUT',
      { 'content-type': 'application/jsonx' },
    ],
    [`${path}: a body with 100 levels`, path, deep(100), 400, 'INVALID_INPUT'],
    [`${path}: a body with 200,000 levels`, path, deep(200_000), 400, 'INVALID_INPUT'],
    [
      `${path}: a body over the size limit`,
      path,
      JSON.stringify({ id: 'x'.repeat(1024 * 1024) }),
      413,
      'PAYLOAD_TOO_LARGE',
    ],
    [
      `${path}: a page on another origin`,
      path,
      '{}',
      403,
      'UNAUTHORIZED',
      { origin: 'https://evil.test' },
    ],
    [`${path}: a sandboxed page`, path, '{}', 403, 'UNAUTHORIZED', { origin: 'null' }],
    [
      `${path}: a page with a similar name`,
      path,
      '{}',
      403,
      'UNAUTHORIZED',
      { origin: 'https://edge.test.evil.test' },
    ],
    [
      `${path}: an empty Authorization header`,
      path,
      '{}',
      401,
      'UNAUTHORIZED',
      { authorization: '' },
    ],
  ]),

  // Session ids.
  ...[
    1,
    null,
    '',
    '../ann',
    'a/b',
    'a\u0000b',
    'a b',
    'é',
    'x'.repeat(129),
    ['a'],
    { a: 1 },
    '__proto__/x',
    'a\nb',
    '%2e%2e',
    '.',
    '..',
  ].map((id): Row => [
    `the session id ${JSON.stringify(id).slice(0, 20)}`,
    '/api/chat',
    chat({ id }),
    400,
    'INVALID_INPUT',
  ]),
  ['an invalid session id of a run', '/api/run', run({ sessionId: '../x' }), 400, 'INVALID_INPUT'],
  [
    'an invalid session id in the header',
    '/v1/chat/completions',
    v1(),
    400,
    'INVALID_INPUT',
    { 'x-isoloop-session': '../x' },
  ],
  [
    'an empty session id in the header',
    '/v1/chat/completions',
    v1(),
    400,
    'INVALID_INPUT',
    { 'x-isoloop-session': '' },
  ],

  // Chats.
  ['a string as `events`', '/api/chat', chat({ events: 'yes' }), 400, 'INVALID_INPUT'],
  ['a string as `messages`', '/api/chat', chat({ messages: 'Hi' }), 400, 'INVALID_INPUT'],
  ['an empty list of messages', '/api/chat', chat({ messages: [] }), 400, 'INVALID_MESSAGE'],
  ['a message that is null', '/api/chat', chat({ messages: [null] }), 400, 'INVALID_MESSAGE'],
  [
    'a system message',
    '/api/chat',
    chat({ messages: [{ ...ui, role: 'system' }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'an assistant message',
    '/api/chat',
    chat({ messages: [{ ...ui, role: 'assistant' }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a tool message',
    '/api/chat',
    chat({ messages: [{ ...ui, role: 'tool' }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a message without parts',
    '/api/chat',
    chat({ messages: [{ role: 'user' }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a tool part',
    '/api/chat',
    chat({
      messages: [
        {
          ...ui,
          parts: [{ type: 'tool-pay', toolCallId: 'c', state: 'output-available', output: 'paid' }],
        },
      ],
    }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a text part whose text is a number',
    '/api/chat',
    chat({ messages: [{ ...ui, parts: [{ type: 'text', text: 1 }] }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a message id with a space',
    '/api/chat',
    chat({ messages: [{ ...ui, id: 'a b' }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a message id that is too long',
    '/api/chat',
    chat({ messages: [{ ...ui, id: 'x'.repeat(129) }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a message id that is a number',
    '/api/chat',
    chat({ messages: [{ ...ui, id: 7 }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a file part with a file: URL',
    '/api/chat',
    chat({
      messages: [
        { ...ui, parts: [{ type: 'file', mediaType: 'image/png', url: 'file:///etc/passwd' }] },
      ],
    }),
    400,
    'INVALID_MESSAGE',
  ],
  ['an unknown trigger', '/api/chat', chat({ trigger: 'resume' }), 400, 'INVALID_INPUT'],
  ['an unknown model', '/api/chat', chat({ model: 'gpt-9' }), 404, 'NOT_FOUND'],
  ['an object as model', '/api/chat', chat({ model: {} }), 400, 'INVALID_INPUT'],
  [
    'too many messages',
    '/api/chat',
    chat({ messages: Array.from({ length: 1001 }, () => 0) }),
    413,
    'PAYLOAD_TOO_LARGE',
  ],

  ['a chat without `messages`', '/api/chat', { id: 'a' }, 400, 'INVALID_INPUT'],
  ['an object as trigger', '/api/chat', chat({ trigger: {} }), 400, 'INVALID_INPUT'],
  ['a list of models', '/api/chat', chat({ model: ['offline'] }), 400, 'INVALID_INPUT'],
  [
    'the name of an inherited property as model',
    '/api/chat',
    chat({ model: 'constructor' }),
    404,
    'NOT_FOUND',
  ],
  [
    'an object as `messageId`',
    '/api/chat',
    chat({ messageId: { toString: 1 } }),
    400,
    'INVALID_INPUT',
  ],
  ['a `messageId` with a space', '/api/chat', chat({ messageId: 'a b' }), 400, 'INVALID_INPUT'],
  [
    'a `messageId` that is too long',
    '/api/chat',
    chat({ messageId: 'x'.repeat(129) }),
    400,
    'INVALID_INPUT',
  ],
  [
    'a number as echo',
    '/api/chat',
    chat({ messages: [{ ...ui, metadata: { echo: 7 } }] }),
    400,
    'INVALID_INPUT',
  ],
  [
    'a new answer in a session without messages',
    '/api/chat',
    chat({ messages: [], trigger: 'regenerate-message' }),
    400,
    'INVALID_INPUT',
  ],
  [
    'a new answer to an unknown message',
    '/api/chat',
    chat({ messages: [], trigger: 'regenerate-message', messageId: 'm9' }),
    400,
    'INVALID_INPUT',
  ],
  [
    'a new answer to an empty message',
    '/api/chat',
    chat({ messages: [{ ...ui, parts: [] }], trigger: 'regenerate-message' }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'an approval in a new session',
    '/api/chat',
    decided({ state: 'approval-responded', approval: { approved: true } }),
    400,
    'INVALID_DECISION',
  ],
  [
    'a result in a new session',
    '/api/chat',
    decided({ state: 'output-available', output: 'paid' }),
    400,
    'INVALID_DECISION',
  ],
  [
    'a failure whose text is an object',
    '/api/chat',
    decided({ state: 'output-error', errorText: { toString: 1 } }),
    400,
    'INVALID_DECISION',
  ],
  [
    'a result of a call that is too long',
    '/api/chat',
    decided({ state: 'output-available', output: 'x'.repeat(200_001) }),
    413,
    'PAYLOAD_TOO_LARGE',
  ],
  [
    'a string as approval',
    '/api/chat',
    decided({ state: 'approval-responded', approval: 'yes' }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a number as id of a call',
    '/api/chat',
    decided({ state: 'output-available', output: 'x', toolCallId: 7 }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a message with inherited fields only',
    '/api/chat',
    '{"id":"a","messages":[{"__proto__":{"role":"user","parts":[]}}]}',
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a body with inherited fields only',
    '/api/chat',
    '{"__proto__":{"id":"a"},"constructor":{"prototype":{"id":"a"}}}',
    400,
    'INVALID_INPUT',
  ],

  // Interrupts.
  ['an interrupt of an invalid session id', '/api/chat/a%20b/interrupt', {}, 400, 'INVALID_INPUT'],
  [
    'an interrupt with an unknown mode',
    '/api/chat/a/interrupt',
    { mode: 'kill' },
    400,
    'INVALID_INPUT',
  ],
  ['a list as interrupt', '/api/chat/a/interrupt', '[]', 400, 'INVALID_INPUT'],
  [
    'an interrupt whose reason is an object',
    '/api/chat/a/interrupt',
    { reason: {} },
    400,
    'INVALID_INPUT',
  ],
  [
    'an abort with a reason',
    '/api/chat/a/interrupt',
    { mode: 'abort', reason: 'Stop' },
    400,
    'INVALID_INPUT',
  ],
  [
    'an interrupt with words for the assistant',
    '/api/chat/a/interrupt',
    { message: 'Stopped.' },
    400,
    'INVALID_INPUT',
  ],
  [
    'an interrupt whose reason is too long',
    '/api/chat/a/interrupt',
    { reason: 'x'.repeat(10_001) },
    400,
    'INVALID_INPUT',
  ],

  // Runs.
  ['an empty input', '/api/run', run({ input: ' ' }), 400, 'INVALID_INPUT'],
  ['a number as input', '/api/run', run({ input: 1 }), 400, 'INVALID_MESSAGE'],
  [
    'an input with the role assistant',
    '/api/run',
    run({ input: { ...ui, role: 'assistant' } }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a run with `message` instead of `input`',
    '/api/run',
    { sessionId: 'a', message: 'Hi' },
    400,
    'INVALID_INPUT',
  ],
  [
    'a run without input in a new session',
    '/api/run',
    { sessionId: 'empty' },
    400,
    'INVALID_INPUT',
  ],
  ['a run with input and decisions', '/api/run', run({ decisions: [] }), 400, 'INVALID_INPUT'],
  [
    'an empty list of decisions',
    '/api/run',
    { sessionId: 'a', decisions: [] },
    400,
    'INVALID_INPUT',
  ],
  [
    'a decision of an unknown type',
    '/api/run',
    { sessionId: 'a', decisions: [{ type: 'grant', toolUseId: 'c' }] },
    400,
    'INVALID_INPUT',
  ],
  [
    'a decision that edits the arguments',
    '/api/run',
    { sessionId: 'a', decisions: [{ type: 'edit', toolUseId: 'c' }] },
    400,
    'INVALID_INPUT',
  ],
  [
    'an approval of an unknown call',
    '/api/run',
    { sessionId: 'a', decisions: [{ type: 'approve', toolUseId: 'c' }] },
    400,
    'INVALID_DECISION',
  ],
  [
    'a decision without the id of its call',
    '/api/run',
    { sessionId: 'a', decisions: [{ type: 'approve' }] },
    400,
    'INVALID_INPUT',
  ],
  [
    'an object as output of a result',
    '/api/run',
    { sessionId: 'a', decisions: [{ type: 'result', toolUseId: 'c', output: {} }] },
    400,
    'INVALID_INPUT',
  ],
  [
    'a result that is too long',
    '/api/run',
    {
      sessionId: 'a',
      decisions: [{ type: 'result', toolUseId: 'c', output: 'x'.repeat(200_001) }],
    },
    413,
    'PAYLOAD_TOO_LARGE',
  ],

  // OpenAI's chat completions.
  ...(
    [
      ['no model', { model: undefined }],
      ['an object as messages', { messages: {} }],
      ['an empty list of messages', { messages: [] }],
      ['null as message', { messages: [null] }],
      ['an unknown role', { messages: [{ role: 'root', content: 'Hi' }] }],
      ['a message without a role', { messages: [{ content: 'Hi' }] }],
      [
        'a message with the role function',
        { messages: [{ role: 'function', name: 'pay', content: 'paid' }] },
      ],
      [
        'an assistant message as the last one',
        { messages: [user, { role: 'assistant', content: 'And' }] },
      ],
      ['a string as temperature', { temperature: 'hot' }],
      ['a temperature that is too high', { temperature: 3 }],
      ['a negative token limit', { max_tokens: -1 }],
      ['a token limit with a fraction', { max_completion_tokens: 0.5 }],
      ['a request for two answers', { n: 2 }],
      ['a string as `stream`', { stream: 'yes' }],
      ['a string as stream options', { stream: true, stream_options: 'usage' }],
      ['a string as `include_usage`', { stream: true, stream_options: { include_usage: 'yes' } }],
      ['an object as tools', { tools: {} }],
      ['null as tool', { tools: [null] }],
      ['a tool of an unsupported type', { tools: [{ type: 'web_search' }] }],
      ['a tool without a name', { tools: [{ type: 'function', function: {} }] }],
      ['a tool name with a space', fn({ name: 'a b' })],
      ['a tool name that is too long', fn({ name: 'x'.repeat(65) })],
      ['a list as parameters of a tool', fn({ parameters: [] })],
      ['tool parameters of type string', fn({ parameters: { type: 'string' } })],
      ['a number as description of a tool', fn({ description: 1 })],
      ['a string as `strict` of a tool', fn({ strict: 'yes' })],
      [
        'two tools with the same name',
        { tools: [...(fn() as { tools: object[] }).tools, ...(fn() as { tools: object[] }).tools] },
      ],
      ["a tool with the name of an agent's tool", fn({ name: 'pay' })],
      [
        'too many tools',
        {
          tools: Array.from({ length: 129 }, (_, n) => ({
            type: 'function',
            function: { name: `f${n}` },
          })),
        },
      ],
      ['a required tool choice without tools', { tool_choice: 'required' }],
      [
        "a tool choice that names an agent's tool",
        { ...fn(), tool_choice: { type: 'function', function: { name: 'pay' } } },
      ],
      ['an unknown tool choice', { ...fn(), tool_choice: 'always' }],
      ['the deprecated `functions`', { functions: [{ name: 'f' }] }],
      ['an unknown response format', { response_format: { type: 'xml' } }],
      ['a string as response format', { response_format: 'json' }],
      ['a response format without a schema', { response_format: { type: 'json_schema' } }],
      [
        'a response format without a name',
        { response_format: { type: 'json_schema', json_schema: { schema: {} } } },
      ],
      [
        'a response format with a list as schema',
        { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: [] } } },
      ],
      ['a request for logprobs', { logprobs: true }],
      ['a stop sequence', { stop: ['\n'] }],
      ['a request for speech', { modalities: ['text', 'audio'] }],
      ['a tool result without a call', { messages: [user, toolMessage({})] }],
      [
        'a tool result without an id',
        { messages: [user, toolMessage({ tool_call_id: undefined })] },
      ],
      ['an object as tool calls', { messages: [user, { role: 'assistant', tool_calls: {} }] }],
      ['null as tool call', { messages: [user, { role: 'assistant', tool_calls: [null] }] }],
      [
        'an open call of a tool that needs approval',
        {
          messages: [
            user,
            {
              role: 'assistant',
              tool_calls: [
                { id: 'c', type: 'function', function: { name: 'pay', arguments: '{}' } },
              ],
            },
          ],
        },
      ],
    ] as const
  ).map(([what, more]): Row => [
    `/v1: ${what}`,
    '/v1/chat/completions',
    v1(more),
    400,
    'INVALID_INPUT',
  ]),
  ['/v1: an unknown model', '/v1/chat/completions', v1({ model: '__proto__' }), 404, 'NOT_FOUND'],
  ['/v1: a number as content', '/v1/chat/completions', part(1), 400, 'INVALID_INPUT'],
  ['/v1: null as content part', '/v1/chat/completions', part([null]), 400, 'INVALID_INPUT'],
  [
    '/v1: a content part of an unknown type',
    '/v1/chat/completions',
    part([{ type: 'hologram' }]),
    400,
    'INVALID_INPUT',
  ],
  [
    '/v1: an image with a file: URL',
    '/v1/chat/completions',
    part([{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }]),
    400,
    'INVALID_INPUT',
  ],
  [
    '/v1: a tool result in a new session',
    '/v1/chat/completions',
    v1({ messages: [toolMessage({})] }),
    400,
    'INVALID_DECISION',
    {
      'x-isoloop-session': 'fresh',
    },
  ],
  [
    '/v1: a conversation without a new message for the session',
    '/v1/chat/completions',
    v1({ messages: [user, { role: 'assistant', content: 'x' }] }),
    400,
    'INVALID_INPUT',
    {
      'x-isoloop-session': 'fresh',
    },
  ],

  // The model proxy.
  ['/llm: an unknown model', '/llm/v1/chat/completions', v1(), 404, 'NOT_FOUND'],
  [
    '/llm: a string as messages',
    '/llm/v1/chat/completions',
    v1({ model: 'small', messages: 'x' }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: an unknown field',
    '/llm/v1/chat/completions',
    v1({ model: 'small', store: true }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: an inherited field',
    '/llm/v1/chat/completions',
    '{"model":"small","messages":[],"__proto__":{}}',
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: a tool that the model server would run',
    '/llm/v1/chat/completions',
    v1({ model: 'small', tools: [{ type: 'web_search' }] }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: an object as tools',
    '/llm/v1/chat/completions',
    v1({ model: 'small', tools: { type: 'function' } }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: null as tool',
    '/llm/v1/chat/completions',
    v1({ model: 'small', tools: [null] }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: a token limit of zero',
    '/llm/v1/chat/completions',
    v1({ model: 'small', max_completion_tokens: 0 }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: a request for two answers',
    '/llm/v1/chat/completions',
    v1({ model: 'small', n: 2 }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: a string as token limit',
    '/llm/v1/chat/completions',
    v1({ model: 'small', max_tokens: '9' }),
    400,
    'INVALID_INPUT',
  ],
];

function target(place: Place = 'KV'): Bound {
  const llm = llmProxy({
    models: ['small'],
    upstream: () => ({ fetch: () => Promise.reject(new Error('asked')) }),
  });
  return boundEndpoint(place, ['Never said.'], { tools: [pay] }, { llm }, { id: 'a', user: 'ann' });
}

async function checkRefusal(
  response: Response,
  path: string,
  status: number,
  code: string,
): Promise<void> {
  expect(response.headers.get('content-type')).toContain('application/json');
  const text = await response.text();
  const { error } = JSON.parse(text) as { readonly error: Readonly<Record<string, unknown>> };
  expect([response.status, error['code']]).toEqual([status, code]);
  expect(typeof error['message']).toBe('string');
  expect(Object.keys(error).toSorted()).toEqual(
    /v1\//.test(path) ? ['code', 'message', 'param', 'type'] : ['code', 'message', 'requestId'],
  );
  expect(response.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(text).not.toMatch(/\.ts:|node_modules|\\n\s+at /);
}

test('the table has more than 180 bad requests', () => expect(rows.length).toBeGreaterThan(180));

describe.each(['KV', 'Durable Object'] as const)('%s', (place) => {
  const empty = target(place).stored();

  test.each(rows.map(([what, ...rest]) => ({ what, rest })))(
    'the endpoint rejects a bad request without asking the model or storing anything: $what',
    async ({ rest }) => {
      const [path, body, status, code, headers = {}] = rest;
      const endpoint = target(place);
      const log = vi.spyOn(console, 'error').mockImplementation(() => {});
      const response = await endpoint.post(path, body, 'ann', headers);
      await checkRefusal(response, path, status, code);
      expect(await endpoint.stored()).toEqual(await empty);
      expect(endpoint.model.requests).toEqual([]);
      expect(log).not.toHaveBeenCalled();
      log.mockRestore();
    },
  );

  test('an accepted request changes the stored data, so the check for stored data works', async () => {
    const endpoint = target(place);
    await (await endpoint.post('/api/chat', chat(), 'ann')).text();
    expect(await endpoint.stored()).not.toEqual(await empty);
    await endpoint.fetch('/api/chat/a', {
      method: 'DELETE',
      headers: { authorization: 'Bearer ann' },
    });
  });
});

test.each([
  ['GET', '/api/chat/a%20b/messages'],
  ['GET', '/api/chat/%E0%A4%A/messages'],
  ['GET', `/api/chat/${'x'.repeat(129)}/messages`],
  ['GET', '/api/chat/a%2Fb/stream'],
  ['GET', '/api/chat/a%00b/branches'],
  ['GET', '/api/chat/a/stream?events=yes'],
  ['GET', '/api/chat/a/stream?events='],
  ['DELETE', '/api/chat/..%2Fbob'],
  ['GET', '/api/chats?limit=0'],
  ['GET', '/api/chats?limit=1001'],
  ['GET', '/api/chats?limit=-1'],
  ['GET', '/api/chats?limit=1e3'],
  ['GET', '/api/chats?limit='],
  ['GET', '/api/chats?before=now'],
  ['GET', `/api/chats?before=${'9'.repeat(400)}`],
])('the endpoint rejects a bad id or query: %s %s', async (method, path) => {
  expect.hasAssertions();
  for (const place of ['KV', 'Durable Object'] as const) {
    const response = await target(place).fetch(path, {
      method,
      headers: { authorization: 'Bearer ann' },
    });
    await checkRefusal(response, path, 400, 'INVALID_INPUT');
  }
});

test('the routes for chats, runs, completions and the model proxy reject a body that is not UTF-8', async () => {
  expect.hasAssertions();
  const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' };
  for (const path of postRoutes) {
    const body = new Uint8Array([
      ...new TextEncoder().encode('{"id":"'),
      0xc3,
      0x28,
      ...new TextEncoder().encode('"}'),
    ]);
    await checkRefusal(
      await target().fetch(path, { method: 'POST', headers, body }),
      path,
      400,
      'INVALID_INPUT',
    );
  }
});

test('a request with a wrong method gets 405 and the name of the right method', async () => {
  const posts = postRoutes;
  const gets = [
    '/api/chat/a/messages',
    '/api/chat/a/branches',
    '/v1/models',
    '/llm/v1/models',
    '/healthz',
  ];
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    for (const path of [...posts, ...gets]) {
      const right = posts.includes(path) ? 'POST' : 'GET';
      if (method === right) continue;
      const response = await target().fetch(path, {
        method,
        headers: { authorization: 'Bearer ann' },
      });
      expect(response.headers.get('allow')).toBe(right);
      await checkRefusal(response, path, 405, 'NOT_FOUND');
    }
  }
});
