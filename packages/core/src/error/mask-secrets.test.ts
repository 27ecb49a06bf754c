import { afterEach, expect, test, vi } from 'vitest';
import { AgentError } from './agent-error.ts';
import { addSecrets, logText } from './log-text.ts';
import { maskSecrets } from './mask-secrets.ts';
import { reportFailure } from './report-failure.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Keys by their form. None is a real key. */
const keys: Readonly<Record<string, string>> = {
  UUID: '9f3a4b1c-8d2e-4f00-9abc-1234567890ab',
  'UUID without hyphens': '9f3a4b1c8d2e4f009abc1234567890ab',
  'with slashes': 'wJalrXUtnFE/K7MDENG9/bPxRfiCY3x',
  'with slashes and a word': 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  'with a plus': 'ab/cd+ef9',
  short: 'k9x2f7q',
  'sk-': 'sk-abc123def',
  'sk- with letters': 'sk-abcdefgh',
  'sk-proj-': 'sk-proj-aaaaBBBBcccc',
  sk_live_: 'sk_live_51Habc9',
  'xoxb-': 'xoxb-2222-abc9Z',
  'xoxb- with letters': 'xoxb-abcdefghij',
  hf_: 'hf_aBcDeFgHiJ',
  'tvly-': 'tvly-devabcdef',
  ghp_: 'ghp_abcdefgh',
  AKIA: 'AKIAIOSFODNN7EXAMPLE',
  AIza: 'AIzaSyDaGmWKa4JsXZ',
  'JSON Web Token': 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgN',
};

/** Ways in which servers, SDKs and runtimes quote a key. */
const phrases: readonly ((key: string) => string)[] = [
  (key) => `Incorrect API key provided: ${key}. You can find your API key at https://x.test/keys.`,
  (key) => `Incorrect API key provided: ${key}`,
  (key) => `Invalid API key "${key}"`,
  (key) => `The API key ${key} is not valid for this project`,
  (key) => `Your token (${key}) has expired`,
  (key) => `token you sent was ${key}, which is unknown`,
  (key) => `No access for key='${key}'`,
  (key) => `{"error":{"message":"Incorrect API key provided: ${key}."}}`,
  (key) => `{\\"api_key\\":\\"${key}\\"}`,
  (key) => `password ${key} was refused`,
  (key) => `the secret is ${key}`,
  (key) => `authorization: Bearer ${key}`,
  (key) => `Headers.append: "Bearer ${key}" is an invalid header value`,
  (key) => `x-api-key: ${key}`,
  (key) => `GET https://api.test/v1?api-key=${key}&page=1 failed`,
  (key) => `secret key <${key}> rejected`,
  (key) => `access token:\n${key}`,
  (key) => `无效的 API key：${key}。`,
  (key) => `"${key}" is not a valid API key`,
];

const table = Object.entries(keys).flatMap(([form, key]) =>
  phrases.map((phrase) => ({ form, text: phrase(key), key })),
);

/** Words that look like keys only after a name such as "API key:" or "password". */
const weak = ['hunter2', 'abc123', '8675309123'].flatMap((key) =>
  [
    `Incorrect API key provided: ${key}`,
    `Invalid API key "${key}"`,
    `the secret is ${key}`,
    `password ${key} was refused`,
    `x-api-key: ${key}`,
  ].map((text) => ({ form: 'word and digits', text, key })),
);

test.each([...table, ...weak])('maskSecrets() masks a key ($form) in: $text', ({ text, key }) => {
  const surfaces = [
    maskSecrets(text),
    maskSecrets(`${text}. And then: ${text}`),
    logText(text),
    logText(new Error('Failed', { cause: new Error(text) })),
    logText({ message: text, name: 'Error' }),
    logText(new AggregateError([new AgentError('MODEL_AUTH', text)], 'many')),
    logText(Object.assign(new Error('short'), { stack: `Error: ${text}\n    at f (a.js:1:2)` })),
  ];
  for (const shown of surfaces) {
    expect(shown).toContain('***');
    expect(shown).not.toContain(key);
  }
});

test.each([
  'The API key is missing. Set OPENAI_API_KEY.',
  'OPENAI_API_KEY is not set',
  'The key cannot use the model gpt-4o-mini-2024-07-18.',
  'API key not valid for claude-sonnet-4-20250514 or llama3.',
  'No API key for "llama3" in the settings',
  'max tokens of 128000 exceeded: 130512 tokens',
  'the token limit is 4096',
  'Total tokens: 130512',
  'maxTokens: 131072 is more than 128000',
  'no token for https://api.test/v1/chat/completions',
  'at readKey (file:///srv/app/chunk4f9a2b7c.js:10:5)',
  'the key was read by worker2.js:10:5',
  'Key not found: user',
  'Key not found: item42',
  'Key (id)=(item42) already exists.',
  'Unrecognized key: "max_completion_tokens"',
  'duplicate key value violates unique constraint "pk_users_2024"',
  'Unexpected token in JSON at position 1024',
  'Unexpected token < in JSON at position 0',
  'Unexpected token \'o\', "[object Obj"... is not valid JSON',
  'signature sha256 did not match',
  'JWT signature with RS256 failed',
  'task-queue of desk-2 is full',
  'risk_2024 is high',
  'hf_hub_download failed after 3 tries',
  'npm_config_registry is not set',
  'locale sk-SK is unknown',
  'bearer authentication required',
  'Basic authentication failed',
  'model claude-sonnet-4-20250514 is unknown',
  '@cf/meta/llama-4-scout-17b-16e-instruct',
  'session 3f2b8c1e-9f3a-4b1c-8d2e-1234567890ab has no run',
  'Missing API key. Request 3f2b8c1e-9f3a-4b1c-8d2e-1234567890ab was refused.',
  'at 2026-11-22T20:44:48.123Z',
  'https://api.test/?mail=a@b.test',
  'UNIQUE constraint failed: users.email',
  'connect ECONNREFUSED 10.0.0.1:443',
  "Cannot read properties of undefined (reading 'key')",
  'keyboard layout de-DE-2 is missing',
  'The keynote begins at 10:30 in room 42b',
  'HTTP 503 from https://api.test/v1/responses after 1500 ms',
  'KV PUT failed: 429 Too Many Requests',
  'D1_ERROR: no such table: runs_v2: SQLITE_ERROR',
  'Isolate 7f3a used 128 MB',
  'tool "search2" failed: TypeError: fetch failed',
  'the hidden value of x1 is 12',
])('maskSecrets() keeps: %s', (text) => {
  expect(maskSecrets(text)).toBe(text);
});

test('addSecrets() masks values in every encoding, also without padding and with a line break', () => {
  const values = ['correct horse', 'Pass"word\\', 'ümläut', 'tree/top?>~', 'broken\ud800 half'];
  addSecrets(values.map((value) => `${value}\n`));
  for (const value of values) {
    const bytes = new TextEncoder().encode(value);
    const base64 = btoa(String.fromCharCode(...bytes));
    const inUrl = encodeURIComponent(new TextDecoder().decode(bytes));
    const forms = [
      value,
      inUrl,
      inUrl.replaceAll('%20', '+'),
      JSON.stringify(value),
      JSON.stringify(JSON.stringify(value)),
      base64,
      base64.replace(/=+$/, ''),
      base64.replaceAll('+', '-').replaceAll('/', '_'),
    ];
    for (const form of forms) {
      const shown = maskSecrets(`a ${form} b`);
      expect(shown, form).toMatch(/^a [\\"]*\*\*\*[\\"=]* b$/);
    }
  }
});

test('hidden values are bounded, and short ones are ignored', () => {
  addSecrets(['abc', undefined, 7]);
  expect(maskSecrets('abc')).toBe('abc');
  addSecrets(Array.from({ length: 3_000 }, (_, index) => `hidden value ${index}`));
  expect(maskSecrets('a hidden value 2999 here')).toBe('a *** here');
  expect(maskSecrets('a hidden value 1 here')).toContain('hidden value 1');
});

test('a hidden value at the place where a long text is cut does not appear in part', () => {
  const secret = 'correct-horse-battery-staple';
  addSecrets([secret]);
  for (let more = 0; more < secret.length; more += 1) {
    // What is masked makes the text shorter, so the cut moves into what is shown.
    const text = `password=${'x'.repeat(19_970 + more)}\n`;
    expect(logText(text.slice(0, 19_970 + more) + ` ${secret} ${'y '.repeat(100)}`)).not.toContain(
      'correct',
    );
  }
});

test('warnings on the console show no secret, and no value of addSecrets()', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const error = new Error('Incorrect API key provided: k9x2f7q', {
    cause: new Error('my own value'),
  });
  reportFailure('A listener failed.', undefined, error);
  expect(warn.mock.lastCall![1]).toMatch(/API key provided: \*\*\*[^]*Caused by: Error: my own/);
  addSecrets(['my own value']);
  reportFailure('A listener failed.', undefined, error);
  const [what, shown] = warn.mock.lastCall!;
  expect(what).toBe('A listener failed.');
  expect(shown).toMatch(/API key provided: \*\*\*[^]*Caused by: Error: \*\*\*/);
  expect(shown).not.toMatch(/k9x2f7q|my own value/);
});

test.each([
  'key ',
  'key',
  'token=',
  'sk-',
  'a1b2c3 ',
  'a1',
  'a',
  '"',
  'secret: ',
  '/',
  '//a',
  '@',
  'eyJ',
  '-----BEGIN ',
  '-----BEGIN PRIVATE KEY-----',
  'bearer ',
  'bearer %20',
  'password',
  'key = \\"',
  'a.b1-',
  ' is a valid ',
])('a text of many %j is masked in linear time', (piece) => {
  // If the time were quadratic, this text would take longer than the limit of a test.
  const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
  expect(maskSecrets(text).length).toBeGreaterThan(0);
});
