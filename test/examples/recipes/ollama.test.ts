import { expect, test } from 'vitest';
import { redirectFetch } from '../redirect-fetch.ts';
// #region ollama
import { ReActAgent } from '@isoloop/core';
import { fitContext } from '@isoloop/core/context';
import { openai } from '@isoloop/core/openai';
// #endregion

const scripted = (body: object): Readonly<Record<string, unknown>> => ({
  ...body,
  script: ['Hello.'],
});

test('an agent with a model of Ollama sends its requests to the local server', async () => {
  const sent = redirectFetch('http://127.0.0.1:11434/v1', '/scripted/v1', scripted);

  // #region ollama
  const agent = new ReActAgent({
    name: 'assistant',
    model: openai({
      baseURL: 'http://127.0.0.1:11434/v1',
      model: 'qwen3',
      features: { contextWindow: 16_384 },
    }),
    use: [fitContext()], // reads contextWindow
  });
  const { text } = await agent.call('Hello!');
  // #endregion

  expect(text).toBe('Hello.');
  expect(sent[0]?.body).toMatchObject({ model: 'qwen3', stream: true });
  expect(sent[0]?.headers.has('authorization')).toBe(false);
});
