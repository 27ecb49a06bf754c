import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { redirectFetch } from './redirect-fetch.ts';
// #region errors
import { AgentError, ReActAgent, tool } from '@isoloop/core';
// #endregion
import { openaiResponses } from '@isoloop/core/responses';

test('a failed agent call rejects with an error code, or resolves with a result if `throwOnError` is false', async () => {
  redirectFetch('https://api.openai.com/v1', '/fault/401/v1');
  const model = openaiResponses({ model: 'gpt-5-mini', apiKey: 'sk-test' });
  const log = vi.spyOn(console, 'log').mockReturnValue();

  // #region errors
  const agent = new ReActAgent({ name: 'assistant', model });
  try {
    await agent.call('Hello');
  } catch (error) {
    if (!AgentError.is(error)) throw error; // works across workers and copies of the library
    console.log(error.code, error.message, error.retryable, error.details);
  }

  const result = await agent.call(undefined, { throwOnError: false }); // returns a result instead; without input it repeats the question
  console.assert(result.reason === 'error' && result.error?.code === 'MODEL_AUTH');
  // #endregion

  expect(log.mock.calls).toEqual([
    ['MODEL_AUTH', expect.any(String), false, expect.objectContaining({ status: 401 })],
  ]);
  expect(() => new ReActAgent({ name: 'assistant', model, use: [...('none' as never)] })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
  expect(() => tool({ name: 'no name', description: '', input: {} })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
  expect(result).toMatchObject({ reason: 'error', error: { code: 'MODEL_AUTH' } });
});
