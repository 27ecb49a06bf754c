import { createOpenAI } from '@ai-sdk/openai';
import { fromAiSdk } from '@isoloop/core/ai-sdk';
import { expect, test, vi } from 'vitest';
import { testEndpoint, bindings } from '../../test-support/endpoint.ts';
import { hideValues, logText, withoutKeys } from './log-text.ts';

/** Keys by their form. None is a real key. */
const keys: Readonly<Record<string, string>> = {
  UUID: '9f3a4b1c-8d2e-4f00-9abc-1234567890ab',
  'with slashes': 'wJalrXUtnFE/K7MDENG9/bPxRfiCY3x',
  short: 'k9x2f7q',
  'sk-': 'sk-abc123def',
  sk_live_: 'sk_live_51Habc9',
  'xoxb-': 'xoxb-2222-abc9Z',
  hf_: 'hf_aBcD1234eF',
  'tvly-': 'tvly-dev-9aBc12',
};

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
];

const table = Object.entries(keys).flatMap(([form, key]) =>
  phrases.map((phrase) => ({ form, text: phrase(key), key })),
);

test.each(table)('the log hides a key ($form) in: $text', ({ text, key }) => {
  for (const shown of [
    withoutKeys(text),
    logText(new Error('Failed', { cause: new Error(text) })),
    logText({ message: text, name: 'Error' }),
  ]) {
    expect(shown).toContain('***');
    expect(shown).not.toContain(key);
  }
});

test.each(Object.entries(keys))(
  'an error with a key (%s) from the agent factory or from fromAiSdk() shows no key in the log',
  async (_form, key) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const message = `Incorrect API key provided: ${key}.`;
    const refusing = async (): Promise<Response> =>
      Response.json({ error: { message, type: 'invalid_request_error' } }, { status: 401 });
    const model = fromAiSdk(createOpenAI({ apiKey: key, fetch: refusing }).chat('m'));
    const throwing = (): never => {
      throw new Error(message);
    };
    for (const target of [testEndpoint(model), testEndpoint([], {}, { agent: throwing })]) {
      const response = await target.post('/api/run', { id: crypto.randomUUID(), input: 'Hi' });
      expect(await response.text()).not.toContain(key);
      await target.settled();
    }
    const text = log.mock.calls.flat().join('\n');
    expect(text).toMatch(/MODEL_AUTH[^]*INTERNAL/);
    expect(text).not.toContain(key);
  },
);

test.each([
  'The API key is missing. Set OPENAI_API_KEY.',
  'The key cannot use the model gpt-4o-mini-2024-07-18.',
  'API key not valid for claude-sonnet-4-20250514 or llama3.',
  'max tokens of 128000 exceeded: 130512 tokens',
  'the token limit is 4096',
  'no token for https://api.test/v1/chat/completions',
  'at readKey (file:///srv/app/chunk4f9a2b7c.js:10:5)',
  'the key was read by worker2.js:10:5',
  'Key not found: user',
  'Unexpected token in JSON at position 1024',
  'signature sha256 did not match',
  'task-queue of desk-2 is full',
  'risk_2024 is high',
])('the log keeps: %s', (text) => {
  expect(withoutKeys(text)).toBe(text);
});

test('the log hides the values of bindings and functions in `secrets`, in every encoding', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const values = ['correct horse', 'Pass"word\\', 'ümläut', 'tree/top?'];
  const env = { ...bindings, ONE: values[0], TWO: values[1] };
  const all = values.flatMap((value) => [
    value,
    encodeURIComponent(value),
    JSON.stringify(value),
    btoa(String.fromCharCode(...new TextEncoder().encode(value))),
  ]);
  const failing = {
    agent: (): never => {
      throw new Error(all.join(' | '));
    },
  };
  for (const [secrets, given] of [
    [['ONE', 'TWO', 'MISSING'], env],
    [() => values.slice(2), bindings],
  ] as const) {
    const target = testEndpoint([], {}, { ...failing, secrets }, given);
    await (await target.post('/api/run', { id: crypto.randomUUID(), input: 'Hi' })).text();
  }
  const text = String(log.mock.calls.at(-1));
  for (const value of values) expect(text).not.toContain(value);
  expect(text.replace(/[*|" ]/g, '')).not.toMatch(/horse|word|ml%C3|tree/);
});

test('secrets must be a list or a function', () => {
  expect(() => testEndpoint([], {}, { secrets: 'KEY' as never })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('hidden values are bounded, and short ones are ignored', () => {
  hideValues(['abc', undefined, 7]);
  expect(withoutKeys('abc')).toBe('abc');
  hideValues(Array.from({ length: 3_000 }, (_, index) => `hidden value ${index}`));
  expect(withoutKeys('a hidden value 2999 here')).toBe('a *** here');
  expect(withoutKeys('a hidden value 1 here')).toContain('hidden value 1');
});

test.each(['key ', 'token=', 'sk-', 'a1b2c3 ', '"', 'secret: ', '/', 'eyJ', '-----BEGIN '])(
  'a long text of %j does not hang the log',
  (piece) => {
    expect(withoutKeys(piece.repeat(100_000)).length).toBeLessThanOrEqual(10_000);
  },
);
