import { AgentError } from '@isoloop/core';
import { dashscope } from '@isoloop/core/dashscope';
import { openai } from '@isoloop/core/openai';
import { expect, test, vi } from 'vitest';
import { testEndpoint, type TestEndpoint } from '../../test-support/endpoint.ts';

/** Returns everything that the Worker's log shows, including the stacks and causes of errors. */
async function logOf(target: TestEndpoint): Promise<string> {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const body = { model: 'offline', messages: [{ role: 'user', content: 'Hi' }] };
  const answers = [
    await target.post('/v1/chat/completions', body),
    await target.post('/v1/chat/completions', { ...body, stream: true }),
    await target.post('/api/run', { sessionId: crypto.randomUUID(), input: 'Hi' }),
  ];
  await Promise.all(answers.map((answer) => answer.text()));
  await target.settled();
  const text = log.mock.calls.flat().map(shown).join('\n');
  log.mockRestore();
  return text;
}

function shown(value: unknown): string {
  if (!(value instanceof Error)) return typeof value === 'string' ? value : JSON.stringify(value);
  const { errors = [] } = value as Partial<AggregateError>;
  return [
    value.stack,
    value.message,
    JSON.stringify(value),
    shown(value.cause),
    ...errors.map(shown),
  ].join();
}

const key = 'tenant.4f9a2b7c61d8e0';

test.each<[how: string, respond: () => Response]>([
  ['in an error body', () => new Response(`bad ${key}`, { status: 401 })],
  ['in the reply', () => new Response(key)],
  [
    'in an event',
    () => new Response(`data: ${key}\n\n`, { headers: { 'content-type': 'text/event-stream' } }),
  ],
  [
    'in an exception',
    () => {
      throw new TypeError(`Cannot send ${key}`, {
        cause: new AggregateError([new Error(key)], key),
      });
    },
  ],
])('the log does not contain a key that a model server quotes %s', async (_how, respond) => {
  const fetch = async (): Promise<Response> => respond();
  for (const model of [
    openai({ model: 'm', apiKey: key, fetch }),
    dashscope({ model: 'm', apiKey: key, fetch }),
    openai({ model: 'm', headers: { 'api-key': key }, fetch }),
  ]) {
    const text = await logOf(testEndpoint(model));
    expect(text).toContain('MODEL_');
    expect(text).not.toContain(key);
  }
});

const tail = 'Zq4f9a2b7c61d8e0';

test.each([
  `Incorrect API key provided: sk-proj-${tail}. You can find`,
  `Incorrect API key provided: ${tail}.`,
  `no access for sk-ant-api03-${tail}`,
  `{"api_key":"${tail}"}`,
  `{\\"token\\": \\"${tail}\\"}`,
  `Authorization: Bearer ${tail}`,
  `Headers.append: "Bearer ${tail}" is an invalid header value`,
  `authorization: Basic ${tail}==`,
  `GET https://api.test/v1?key=${tail}&x=1 failed`,
  `fetch https://ann:${tail}@api.test/ failed`,
  `the token ${tail} is expired`,
  `password=${tail}`,
  `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.${tail}`,
  `AIzaSyA1234567890-abcdefgh${tail}`,
  `ghp_0123456789abcdef${tail}`,
])('the log does not show the secret in: %s', async (words) => {
  const failures: readonly unknown[] = [
    new Error(words),
    words,
    new AgentError('TOOL_ERROR', words, { details: { words } }),
    new AgentError('MODEL_SERVER', 'Down', {
      cause: new Error('why', { cause: new Error(words) }),
    }),
    new AggregateError([new Error('one'), new AggregateError([new Error(words)], words)], 'many'),
    Object.assign(new Error('short'), { stack: `Error: ${words}\n    at f (${words})` }),
  ];
  for (const error of failures) {
    const text = await logOf(testEndpoint([{ error }, { error }, { error }]));
    expect(text).toMatch(/INTERNAL|TOOL_ERROR|MODEL_/);
    expect(text).not.toContain(tail);
  }
});

const words = 'correct-horse-battery-staple';

test.each<readonly [text: string, secret: string]>([
  // Values of a few letters, and of words without a digit.
  [`Authorization: Bearer ${words}`, words],
  [`{"authorization":"Bearer ${words}"}`, words],
  [`{"Authorization":["${words}"]}`, words],
  ['Bearer QWERTYUIOPASDFGHJKL', 'QWERTYUIOPASDFGHJKL'],
  ["password='hunter2-x'", 'hunter2'],
  ['password: hunter2', 'hunter2'],
  ['{"password":"hunter2"}', 'hunter2'],
  ['{\\"password\\":\\"hunter2\\"}', 'hunter2'],
  ['Password hunter2x is wrong', 'hunter2x'],
  [`passphrase: ${words}`, words],
  ['pass=hunter2', 'hunter2'],
  ['Cookie: a=1; sid=abc123', 'abc123'],
  ['Set-Cookie: sid=abc123; Path=/', 'abc123'],
  ['?sv=1&sig=abcd%2Bx', 'abcd'],
  ["api_key='abcdefgh'", 'abcdefgh'],
  ["['x-api-key', 'abcdefghijkl']", 'abcdefghijkl'],
  // Other signs between a name and its value.
  [`key%3D${tail}`, tail],
  [`Bearer%20${tail}`, tail],
  [`Bearer\t${tail}`, tail],
  [`token = "${tail}"`, tail],
  [`token:  ${tail}`, tail],
  [`key -> ${tail}`, tail],
  [`Invalid key (${tail})`, tail],
  [`key \`${tail}\``, tail],
  // Keys without a name before them.
  [`The key you gave, ${tail}, is wrong`, tail],
  [`Unauthorized: ${tail}`, tail],
  [`SK-${tail}`, tail],
  [`whsec_${tail}`, tail],
  [`npm_${tail}`, tail],
  [`SG.${tail}.x`, tail],
  [`https://hooks.test/services/T000/B000/${tail}`, tail],
  [`https://api.test/bot123456789:AAE${tail}/send`, tail],
  [`sk-proj-abc_DEF-ghi123jkl456mno789pqr-horse`, 'horse'],
  // Passwords in addresses, and private keys.
  [`https://ann:p@${words}@host.test/`, words],
  ['redis://:abcd@host.test', 'abcd'],
  [`-----BEGIN PRIVATE KEY-----\nMIIEvQ\n${words}\n-----END PRIVATE KEY-----`, words],
  [`-----BEGIN RSA PRIVATE KEY-----\\nMIIEvQ\\n${words}`, words],
])('the log hides %j', async (text, secret) => {
  const error = new Error(text);
  const log = await logOf(testEndpoint([{ error }, { error }, { error }]));
  expect(log).toContain('INTERNAL');
  expect(log).not.toContain(secret);
});

test('the log shows no part of a secret at the place where a long text is cut', async () => {
  for (let more = 0; more < 20; more++) {
    const error = new Error(`${'x '.repeat(4980 + more)}sk-${tail}`);
    const log = await logOf(testEndpoint([{ error }, { error }, { error }]));
    expect(log).toContain('x x x');
    expect(log).not.toContain(tail.slice(0, 4));
  }
});

test.each([
  'model claude-sonnet-4-20250514 is unknown',
  '@cf/meta/llama-4-scout-17b-16e-instruct',
  'session 3f2b8c1e-9f3a-4b1c-8d2e-1234567890ab',
  'Unrecognized key: "max_tokens"',
  'Unexpected token < in JSON at position 0',
  'at 2026-11-22T20:44:48.123Z',
  'https://api.test/?mail=a@b.test',
  'secret OPENAI_API_KEY is not set',
  'bearer authentication required',
  'UNIQUE constraint failed: users.email',
])('the log shows %j', async (text) => {
  const error = new Error(text);
  expect(await logOf(testEndpoint([{ error }, { error }, { error }]))).toContain(text);
});

test('the log keeps addresses, error names and other text that helps to find a failure', async () => {
  const cause = new AggregateError([new Error('connect ECONNREFUSED 10.0.0.1:443')], 'no host');
  const error = new Error('Cannot read https://api.test/v1?page=2 at key 7', { cause });
  Object.assign(cause, { cause: error });
  const text = await logOf(testEndpoint([{ error }, { error }, { error }]));
  for (const part of [
    'https://api.test/v1?page=2 at key 7',
    'ECONNREFUSED 10.0.0.1:443',
    'no host',
  ])
    expect(text).toContain(part);
  expect(text).toContain('error-response-log.test.ts');
});

test('the log shows an error whose fields cannot be read', async () => {
  const error = new Proxy(new Error('x'), {
    get: () => {
      throw new Error('no');
    },
  });
  expect(await logOf(testEndpoint([{ error }, { error }, { error }]))).toContain('INTERNAL');
});
