import { tool } from '@isoloop/core';
import { describe, expect, test, vi } from 'vitest';
import { boundEndpoint, type Bound, type Place } from '../../test-support/both-bindings.ts';

type Body = object | string;
type Row = readonly [
  what: string,
  path: string,
  body: Body,
  status: number,
  code: string,
  headers?: Record<string, string>,
];

const pay = tool({
  name: 'pay',
  description: 'Pays',
  input: { type: 'object' },
  needsApproval: true,
  execute: () => 'paid',
});
const user = { role: 'user', content: 'Hi' };
const ui = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
const chat = (more: object = {}): object => ({ id: 'a', messages: [ui], ...more });
const run = (more: object = {}): object => ({ id: 'a', input: 'Hi', ...more });
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
  ...['/api/chat', '/api/run', '/v1/chat/completions', '/llm/v1/chat/completions'].flatMap(
    (path): Row[] => [
      [`${path}: nothing`, path, '', 400, 'INVALID_INPUT'],
      [
        `${path}: truncated JSON`,
        path,
        '{"model":"offline","messages":[{"role":"user"',
        400,
        'INVALID_INPUT',
      ],
      [`${path}: a list`, path, '[]', 400, 'INVALID_INPUT'],
      [`${path}: null`, path, 'null', 400, 'INVALID_INPUT'],
      [`${path}: a text`, path, '"x"', 400, 'INVALID_INPUT'],
      [`${path}: no fields`, path, {}, 400, 'INVALID_INPUT'],
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
        `${path}: a type that only begins like it`,
        path,
        '{}',
        400,
        'INVALID_INPUT',
        { 'content-type': 'application/jsonx' },
      ],
      [`${path}: nested deeply`, path, deep(100), 400, 'INVALID_INPUT'],
      [`${path}: nested very deeply`, path, deep(200_000), 400, 'INVALID_INPUT'],
      [
        `${path}: too large`,
        path,
        JSON.stringify({ id: 'x'.repeat(1024 * 1024) }),
        413,
        'PAYLOAD_TOO_LARGE',
      ],
      [`${path}: a foreign page`, path, '{}', 403, 'UNAUTHORIZED', { origin: 'https://evil.test' }],
      [`${path}: a sandboxed page`, path, '{}', 403, 'UNAUTHORIZED', { origin: 'null' }],
      [
        `${path}: a page with a similar name`,
        path,
        '{}',
        403,
        'UNAUTHORIZED',
        { origin: 'https://edge.test.evil.test' },
      ],
      [`${path}: nobody`, path, '{}', 401, 'UNAUTHORIZED', { authorization: '' }],
    ],
  ),

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
    `a session ${JSON.stringify(id).slice(0, 20)}`,
    '/api/chat',
    chat({ id }),
    400,
    'INVALID_INPUT',
  ]),
  ['a session of a run', '/api/run', run({ id: '../x' }), 400, 'INVALID_INPUT'],
  [
    'a session by header',
    '/v1/chat/completions',
    v1(),
    400,
    'INVALID_INPUT',
    { 'x-isoloop-session': '../x' },
  ],
  [
    'an empty session by header',
    '/v1/chat/completions',
    v1(),
    400,
    'INVALID_INPUT',
    { 'x-isoloop-session': '' },
  ],

  // Chats.
  ['events of a text', '/api/chat', chat({ events: 'yes' }), 400, 'INVALID_INPUT'],
  ['messages of a text', '/api/chat', chat({ messages: 'Hi' }), 400, 'INVALID_INPUT'],
  ['no messages', '/api/chat', chat({ messages: [] }), 400, 'INVALID_MESSAGE'],
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
  ['no parts', '/api/chat', chat({ messages: [{ role: 'user' }] }), 400, 'INVALID_MESSAGE'],
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
    'a part of no kind',
    '/api/chat',
    chat({ messages: [{ ...ui, parts: [{ type: 'text', text: 1 }] }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a message with an id of blanks',
    '/api/chat',
    chat({ messages: [{ ...ui, id: 'a b' }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a message with an endless id',
    '/api/chat',
    chat({ messages: [{ ...ui, id: 'x'.repeat(129) }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a message with an id of no kind',
    '/api/chat',
    chat({ messages: [{ ...ui, id: 7 }] }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a local file',
    '/api/chat',
    chat({
      messages: [
        { ...ui, parts: [{ type: 'file', mediaType: 'image/png', url: 'file:///etc/passwd' }] },
      ],
    }),
    400,
    'INVALID_MESSAGE',
  ],
  ['a trigger', '/api/chat', chat({ trigger: 'resume' }), 400, 'INVALID_INPUT'],
  ['a model that is not here', '/api/chat', chat({ model: 'gpt-9' }), 404, 'NOT_FOUND'],
  ['a model of no kind', '/api/chat', chat({ model: {} }), 400, 'INVALID_INPUT'],
  [
    'many messages',
    '/api/chat',
    chat({ messages: Array.from({ length: 1001 }, () => 0) }),
    413,
    'PAYLOAD_TOO_LARGE',
  ],

  ['messages that are missing', '/api/chat', { id: 'a' }, 400, 'INVALID_INPUT'],
  ['a trigger of no kind', '/api/chat', chat({ trigger: {} }), 400, 'INVALID_INPUT'],
  ['a model of many', '/api/chat', chat({ model: ['offline'] }), 400, 'INVALID_INPUT'],
  ['a model of every object', '/api/chat', chat({ model: 'constructor' }), 404, 'NOT_FOUND'],
  [
    'a message id of no kind',
    '/api/chat',
    chat({ messageId: { toString: 1 } }),
    400,
    'INVALID_INPUT',
  ],
  ['a message id of blanks', '/api/chat', chat({ messageId: 'a b' }), 400, 'INVALID_INPUT'],
  [
    'an endless message id',
    '/api/chat',
    chat({ messageId: 'x'.repeat(129) }),
    400,
    'INVALID_INPUT',
  ],
  [
    'an echo of no kind',
    '/api/chat',
    chat({ messages: [{ ...ui, metadata: { echo: 7 } }] }),
    400,
    'INVALID_INPUT',
  ],
  [
    'an answer to nothing',
    '/api/chat',
    chat({ messages: [], trigger: 'regenerate-message' }),
    400,
    'INVALID_INPUT',
  ],
  [
    'an answer to nobody',
    '/api/chat',
    chat({ messages: [], trigger: 'regenerate-message', messageId: 'm9' }),
    400,
    'INVALID_INPUT',
  ],
  [
    'an answer to an empty message',
    '/api/chat',
    chat({ messages: [{ ...ui, parts: [] }], trigger: 'regenerate-message' }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'an approval in a session that is new',
    '/api/chat',
    decided({ state: 'approval-responded', approval: { approved: true } }),
    400,
    'INVALID_DECISION',
  ],
  [
    'a result in a session that is new',
    '/api/chat',
    decided({ state: 'output-available', output: 'paid' }),
    400,
    'INVALID_DECISION',
  ],
  [
    'a failure of no words',
    '/api/chat',
    decided({ state: 'output-error', errorText: { toString: 1 } }),
    400,
    'INVALID_DECISION',
  ],
  [
    'an endless result of a call',
    '/api/chat',
    decided({ state: 'output-available', output: 'x'.repeat(200_001) }),
    413,
    'PAYLOAD_TOO_LARGE',
  ],
  [
    'an approval of no kind',
    '/api/chat',
    decided({ state: 'approval-responded', approval: 'yes' }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a call by an id of no kind',
    '/api/chat',
    decided({ state: 'output-available', output: 'x', toolCallId: 7 }),
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a message of fields of every object',
    '/api/chat',
    '{"id":"a","messages":[{"__proto__":{"role":"user","parts":[]}}]}',
    400,
    'INVALID_MESSAGE',
  ],
  [
    'a body of fields of every object',
    '/api/chat',
    '{"__proto__":{"id":"a"},"constructor":{"prototype":{"id":"a"}}}',
    400,
    'INVALID_INPUT',
  ],

  // Interrupts.
  ['a stop of no session', '/api/chat/a%20b/interrupt', {}, 400, 'INVALID_INPUT'],
  ['a stop of no kind', '/api/chat/a/interrupt', { mode: 'kill' }, 400, 'INVALID_INPUT'],
  ['a stop by a list', '/api/chat/a/interrupt', '[]', 400, 'INVALID_INPUT'],
  [
    'a stop in other words than a text',
    '/api/chat/a/interrupt',
    { message: {} },
    400,
    'INVALID_INPUT',
  ],
  [
    'an abort in words',
    '/api/chat/a/interrupt',
    { mode: 'abort', message: 'Stop' },
    400,
    'INVALID_INPUT',
  ],
  [
    'a stop in endless words',
    '/api/chat/a/interrupt',
    { message: 'x'.repeat(10_001) },
    400,
    'INVALID_INPUT',
  ],

  // Runs.
  ['an empty input', '/api/run', run({ input: ' ' }), 400, 'INVALID_INPUT'],
  ['an input of no kind', '/api/run', run({ input: 1 }), 400, 'INVALID_MESSAGE'],
  [
    'an input of the assistant',
    '/api/run',
    run({ input: { ...ui, role: 'assistant' } }),
    400,
    'INVALID_MESSAGE',
  ],
  ['an input by another name', '/api/run', { id: 'a', message: 'Hi' }, 400, 'INVALID_INPUT'],
  ['nothing to go on with', '/api/run', { id: 'empty' }, 400, 'INVALID_INPUT'],
  ['an input and decisions', '/api/run', run({ decisions: [] }), 400, 'INVALID_INPUT'],
  ['no decisions', '/api/run', { id: 'a', decisions: [] }, 400, 'INVALID_INPUT'],
  [
    'a decision of no kind',
    '/api/run',
    { id: 'a', decisions: [{ type: 'grant', toolUseId: 'c' }] },
    400,
    'INVALID_INPUT',
  ],
  [
    'other arguments',
    '/api/run',
    { id: 'a', decisions: [{ type: 'edit', toolUseId: 'c', input: {} }] },
    400,
    'INVALID_INPUT',
  ],
  [
    'an approval of nothing',
    '/api/run',
    { id: 'a', decisions: [{ type: 'approve', toolUseId: 'c' }] },
    400,
    'INVALID_DECISION',
  ],
  [
    'a decision without an id',
    '/api/run',
    { id: 'a', decisions: [{ type: 'approve' }] },
    400,
    'INVALID_INPUT',
  ],
  [
    'a result of no kind',
    '/api/run',
    { id: 'a', decisions: [{ type: 'result', toolUseId: 'c', output: {} }] },
    400,
    'INVALID_INPUT',
  ],
  [
    'an endless result',
    '/api/run',
    { id: 'a', decisions: [{ type: 'result', toolUseId: 'c', output: 'x'.repeat(200_001) }] },
    413,
    'PAYLOAD_TOO_LARGE',
  ],

  // OpenAI's chat completions.
  ...(
    [
      ['no model', { model: undefined }],
      ['messages of an object', { messages: {} }],
      ['no messages', { messages: [] }],
      ['a message of null', { messages: [null] }],
      ['a role', { messages: [{ role: 'root', content: 'Hi' }] }],
      ['no role', { messages: [{ content: 'Hi' }] }],
      ['a function message', { messages: [{ role: 'function', name: 'pay', content: 'paid' }] }],
      ['an assistant last', { messages: [user, { role: 'assistant', content: 'And' }] }],
      ['a temperature', { temperature: 'hot' }],
      ['a temperature too high', { temperature: 3 }],
      ['tokens below zero', { max_tokens: -1 }],
      ['half a token', { max_completion_tokens: 0.5 }],
      ['two answers', { n: 2 }],
      ['stream of a text', { stream: 'yes' }],
      ['stream options alone', { stream_options: { include_usage: true } }],
      ['stream options of a text', { stream: true, stream_options: 'usage' }],
      ['usage of a text', { stream: true, stream_options: { include_usage: 'yes' } }],
      ['tools of an object', { tools: {} }],
      ['a tool of null', { tools: [null] }],
      ['a tool of another type', { tools: [{ type: 'web_search' }] }],
      ['a tool without a name', { tools: [{ type: 'function', function: {} }] }],
      ['a tool with a name of blanks', fn({ name: 'a b' })],
      ['a tool with an endless name', fn({ name: 'x'.repeat(65) })],
      ['a tool with parameters of a list', fn({ parameters: [] })],
      ['a tool with parameters of a text', fn({ parameters: { type: 'string' } })],
      ['a tool described by a number', fn({ description: 1 })],
      ['a tool that is oddly strict', fn({ strict: 'yes' })],
      [
        'two tools of a name',
        { tools: [...(fn() as { tools: object[] }).tools, ...(fn() as { tools: object[] }).tools] },
      ],
      ["a tool of the agent's name", fn({ name: 'pay' })],
      [
        'many tools',
        {
          tools: Array.from({ length: 129 }, (_, n) => ({
            type: 'function',
            function: { name: `f${n}` },
          })),
        },
      ],
      ['a choice of no tools', { tool_choice: 'required' }],
      [
        "a choice of the agent's tool",
        { ...fn(), tool_choice: { type: 'function', function: { name: 'pay' } } },
      ],
      ['a choice of no kind', { ...fn(), tool_choice: 'always' }],
      ['no parallel calls', { ...fn(), parallel_tool_calls: false }],
      ['old functions', { functions: [{ name: 'f' }] }],
      ['a format', { response_format: { type: 'xml' } }],
      ['a format of a text', { response_format: 'json' }],
      ['a format without a schema', { response_format: { type: 'json_schema' } }],
      [
        'a format without a name',
        { response_format: { type: 'json_schema', json_schema: { schema: {} } } },
      ],
      [
        'a format with a schema of a list',
        { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: [] } } },
      ],
      ['logprobs', { logprobs: true }],
      ['a stop', { stop: ['\n'] }],
      ['speech', { modalities: ['text', 'audio'] }],
      ['a search', { web_search_options: {} }],
      ['a result of nothing', { messages: [user, toolMessage({})] }],
      ['a result without an id', { messages: [user, toolMessage({ tool_call_id: undefined })] }],
      ['calls of an object', { messages: [user, { role: 'assistant', tool_calls: {} }] }],
      ['a call of null', { messages: [user, { role: 'assistant', tool_calls: [null] }] }],
      [
        'an approved call',
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
  [
    '/v1: a model that is not here',
    '/v1/chat/completions',
    v1({ model: '__proto__' }),
    404,
    'NOT_FOUND',
  ],
  ['/v1: content of a number', '/v1/chat/completions', part(1), 400, 'INVALID_INPUT'],
  ['/v1: a part of null', '/v1/chat/completions', part([null]), 400, 'INVALID_INPUT'],
  [
    '/v1: a part of no kind',
    '/v1/chat/completions',
    part([{ type: 'hologram' }]),
    400,
    'INVALID_INPUT',
  ],
  [
    '/v1: a local image',
    '/v1/chat/completions',
    part([{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }]),
    400,
    'INVALID_INPUT',
  ],
  [
    '/v1: a result to a session that is new',
    '/v1/chat/completions',
    v1({ messages: [toolMessage({})] }),
    400,
    'INVALID_DECISION',
    {
      'x-isoloop-session': 'fresh',
    },
  ],
  [
    '/v1: nothing new to a session',
    '/v1/chat/completions',
    v1({ messages: [user, { role: 'assistant', content: 'x' }] }),
    400,
    'INVALID_INPUT',
    {
      'x-isoloop-session': 'fresh',
    },
  ],

  // The model proxy.
  ['/llm: a model that is not here', '/llm/v1/chat/completions', v1(), 404, 'NOT_FOUND'],
  [
    '/llm: messages of a text',
    '/llm/v1/chat/completions',
    v1({ model: 'small', messages: 'x' }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: another field',
    '/llm/v1/chat/completions',
    v1({ model: 'small', store: true }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: a field of every object',
    '/llm/v1/chat/completions',
    '{"model":"small","messages":[],"__proto__":{}}',
    400,
    'INVALID_INPUT',
  ],
  [
    "/llm: a server's own tool",
    '/llm/v1/chat/completions',
    v1({ model: 'small', tools: [{ type: 'web_search' }] }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: tools of an object',
    '/llm/v1/chat/completions',
    v1({ model: 'small', tools: { type: 'function' } }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: a tool of null',
    '/llm/v1/chat/completions',
    v1({ model: 'small', tools: [null] }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: no tokens',
    '/llm/v1/chat/completions',
    v1({ model: 'small', max_completion_tokens: 0 }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: two answers',
    '/llm/v1/chat/completions',
    v1({ model: 'small', n: 2 }),
    400,
    'INVALID_INPUT',
  ],
  [
    '/llm: tokens of a text',
    '/llm/v1/chat/completions',
    v1({ model: 'small', max_tokens: '9' }),
    400,
    'INVALID_INPUT',
  ],
];

function target(place: Place = 'KV'): Bound {
  const llm = {
    models: ['small'],
    upstream: () => ({ fetch: () => Promise.reject(new Error('asked')) }),
  };
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
    'rejects the request, and neither asks the model nor stores anything: $what',
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

  test('an accepted request changes the stored data', async () => {
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
])('rejects a bad id or query: %s %s', async (method, path) => {
  expect.hasAssertions();
  for (const place of ['KV', 'Durable Object'] as const) {
    const response = await target(place).fetch(path, {
      method,
      headers: { authorization: 'Bearer ann' },
    });
    await checkRefusal(response, path, 400, 'INVALID_INPUT');
  }
});

test('chats, runs, completions and the proxy reject a body that is not UTF-8', async () => {
  expect.hasAssertions();
  const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' };
  for (const path of [
    '/api/chat',
    '/api/run',
    '/v1/chat/completions',
    '/llm/v1/chat/completions',
  ]) {
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

test('answers another method with 405 and names the right one', async () => {
  const posts = ['/api/chat', '/api/run', '/v1/chat/completions', '/llm/v1/chat/completions'];
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
