import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { MemoryStore, ReActAgent } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
// #region spending-per-user
import { spendCap, storedCounters } from '@isoloop/guards';
// #endregion

test('a user over the spending limit is refused without a request, and other users are not', async () => {
  const usage = { inputTokens: 100_000, outputTokens: 10_000 };
  const model = new ScriptedModel([
    { text: 'Here it is.', usage },
    { text: 'And more.', usage },
    'Hello Bob.',
  ]);
  const kv = new MemoryStore();

  // #region spending-per-user
  const dollars = { input: 0.25e-6, cached: 0.025e-6, output: 2e-6 }; // per token
  const cap = spendCap({
    limit: 0.08, // dollars per user
    windowMs: 30 * 24 * 60 * 60 * 1000, // 30 days; default: one day
    price: ({ inputTokens, outputTokens, cachedInputTokens = 0 }) =>
      (inputTokens - cachedInputTokens) * dollars.input +
      cachedInputTokens * dollars.cached +
      outputTokens * dollars.output,
    store: storedCounters(kv), // any KeyValueStore; without it, the counts are in memory
  });
  const agentOf = (userId: string): ReActAgent =>
    new ReActAgent({ name: 'assistant', model, userId, use: [cap] });

  await agentOf('ann').call('Write a report.'); // 0.045 dollars
  await agentOf('ann').call('Write another one.');
  const { reason, text } = await agentOf('ann').call('And one more.');
  console.assert(reason === 'rejected'); // `text` is for the user
  // #endregion

  expect(text).not.toBe('');
  expect(model.requests).toHaveLength(2);
  expect((await agentOf('bob').call('Hi')).text).toBe('Hello Bob.');
});
