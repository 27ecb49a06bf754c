import { createOpenAI } from '@ai-sdk/openai';
import { fromAiSdk } from '@isoloop/core/ai-sdk';
import { inputGuard } from '@isoloop/guards';
import { afterEach, expect, test, vi } from 'vitest';
import { bindings, testEndpoint } from '../../test-support/endpoint.ts';
import { jwt } from '../jwt/jwt.ts';
import { llmProxy } from '../llm/llm-proxy.ts';
import { bearerToken } from './bearer-token.ts';

afterEach(() => void vi.restoreAllMocks());

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

test.each(Object.entries(keys))(
  'an error with a key (%s) from the agent factory or from fromAiSdk() shows no key in the log',
  async (_form, key) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const message = `Incorrect API key provided: ${key}.`;
    const throwing = (): never => {
      throw new TypeError(message, { cause: new Error(`Bearer ${key}`) });
    };
    const failures: readonly (() => Response)[] = [
      () => Response.json({ error: { message, type: 'invalid_request_error' } }, { status: 401 }),
      () => new Response(`<p>${message}</p>`, { status: 401 }),
      () => new Response(message, { headers: { 'content-type': 'text/event-stream' } }),
      throwing,
    ];
    const models = failures.map((respond) =>
      fromAiSdk(createOpenAI({ apiKey: key, fetch: async () => respond() }).chat('m')),
    );
    const targets = models.map((model) => testEndpoint(model));
    for (const target of [...targets, testEndpoint([], {}, { agent: throwing })]) {
      const response = await target.post('/api/run', {
        sessionId: crypto.randomUUID(),
        input: 'Hi',
      });
      expect(await response.text()).not.toContain(key);
      await target.settled();
    }
    const text = log.mock.calls.flat().join('\n');
    expect(text).toMatch(/MODEL_AUTH[^]*INTERNAL/);
    expect(text).not.toContain(key);
  },
);

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
    await (await target.post('/api/run', { sessionId: crypto.randomUUID(), input: 'Hi' })).text();
  }
  const text = String(log.mock.calls.at(-1));
  for (const value of values) expect(text).not.toContain(value);
  expect(text.replace(/[*|" ]/g, '')).not.toMatch(/horse|word|ml%C3|tree/);
});

test('the log hides the key of the model proxy, a matched bearer token and the secret of tokens', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const values = [
    'proxy horse key',
    'quiet-river-stone',
    'a secret of words that signs the tokens',
  ];
  const [apiKey, token, secret] = values as [string, string, string];
  const failing = (): never => {
    throw new Error(values.join(' and '));
  };
  const llm = llmProxy({ models: ['m'], upstream: () => ({ apiKey, fetch: failing }) });
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
  await testEndpoint([], {}, { llm }).post('/llm/v1/chat/completions', body);
  const byJwt = jwt({ secret: () => secret, issuer: 'i', audience: 'a' });
  await testEndpoint([], {}, { authorize: byJwt }).get('/v1/models', 'a.b.c');
  const target = testEndpoint([], {}, { authorize: bearerToken(() => token), agent: failing });
  await target.post('/api/run', { sessionId: crypto.randomUUID(), input: 'Hi' }, token);
  await target.settled();
  const text = String(log.mock.lastCall);
  expect(text).toContain('*** and *** and ***');
  for (const value of values) expect(text).not.toContain(value);
});

test('warnings of core show no key in the Worker', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const failure = new Error('Incorrect API key provided: k9x2f7q');
  const failing = inputGuard('failing', () => {
    throw failure;
  });
  const target = testEndpoint([{ text: 'Hello' }], { use: [failing] });
  await (await target.post('/api/run', { sessionId: crypto.randomUUID(), input: 'Hi' })).text();
  expect(warn).toHaveBeenCalled();
  expect(warn.mock.calls.join()).toContain('API key provided: ***');
  expect(warn.mock.calls.join()).not.toContain('k9x2f7q');
});
