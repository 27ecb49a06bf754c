import { expect, test } from 'vitest';
import { redirectFetch } from '../redirect-fetch.ts';
// #region openrouter
import { ReActAgent } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
// #endregion

const apiKey = 'sk-test';
const scripted = (body: object): Readonly<Record<string, unknown>> => ({
  ...body,
  script: ['Hello.'],
});

test('an agent with a model of OpenRouter sends its key, headers and fields', async () => {
  const sent = redirectFetch('https://openrouter.ai/api/v1', '/scripted/v1', scripted);

  // #region openrouter
  const agent = new ReActAgent({
    name: 'assistant',
    model: openai({
      baseURL: 'https://openrouter.ai/api/v1',
      apiKey,
      model: 'anthropic/claude-sonnet-4.5',
      headers: { 'HTTP-Referer': 'https://app.example', 'X-Title': 'My app' },
    }),
    generate: { providerOptions: { provider: { sort: 'price' } } }, // a field of OpenRouter
  });
  const { text } = await agent.call('Hello!');
  // #endregion

  expect(text).toBe('Hello.');
  expect(sent[0]?.url).toBe('https://openrouter.ai/api/v1/chat/completions');
  expect(sent[0]?.body).toMatchObject({
    model: 'anthropic/claude-sonnet-4.5',
    provider: { sort: 'price' },
  });
  expect(sent[0]?.headers.get('authorization')).toBe('Bearer sk-test');
  expect(sent[0]?.headers.get('x-title')).toBe('My app');
});
