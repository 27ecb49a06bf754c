import { expect, test } from 'vitest';
import './strict-assert.ts';
import { redirectFetch } from './redirect-fetch.ts';
// #region errors
import { AgentError, ReActAgent } from '@isoloop/core';
// #endregion
import { tool } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';

test('errors', async () => {
  redirectFetch('https://api.openai.com/v1', '/fault/401/v1');
  const model = openai({ model: 'gpt-5-mini' });
  const told: string[] = [];

  // #region errors
  const agent = new ReActAgent({ name: 'assistant', model });
  try {
    await agent.call('Hello');
  } catch (error) {
    if (!AgentError.is(error)) throw error; // holds across workers and copies of the library
    told.push(error.code, error.message, error.retryable ? 'try again' : 'do not', JSON.stringify(error.details));
  }

  const result = await agent.call(undefined, { throwOnError: false }); // a result instead; no input: the same question
  console.assert(result.reason === 'error' && result.error?.code === 'MODEL_AUTH');
  // #endregion

  expect(told[0]).toBe('MODEL_AUTH');
  expect(told[2]).toBe('do not');
  expect(() => new ReActAgent({ name: 'assistant', model, hooks: 'none' as never })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
  expect(() => tool({ name: 'no name', description: '', input: {} })).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
  expect(result).toMatchObject({ reason: 'error', error: { code: 'MODEL_AUTH' } });
});
