import { expect, test } from 'vitest';
import '../strict-assert.ts';
// #region dollar-budget
import { ReActAgent, textOf, tool, type Middleware, type Usage } from '@isoloop/core';

/** Ends an agent call that has spent `limit` dollars. `price`: the dollars of this usage. */
export function dollarBudget(limit: number, price: (usage: Usage) => number): Middleware {
  return {
    name: 'dollarBudget',
    async wrapRequest(draft, next, run) {
      const isSpent = price(run.usage) >= limit;
      return next(isSpent ? { ...draft, limit: draft.limit ?? 'limit' } : draft);
    },
  };
}
// #endregion
// #region use-dollar-budget
import { ScriptedModel } from '@isoloop/core/testing';
// #endregion
import { Agent } from '@isoloop/core/agent';

test('a budget of dollars ends an agent call before the next request', async () => {
  // #region use-dollar-budget
  const clock = tool({
    name: 'clock',
    description: 'Tells the time.',
    input: { type: 'object', properties: {} }, // a JSON Schema, or one of zod
    execute: () => '09:00',
  });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'clock' }], usage: { inputTokens: 900, outputTokens: 50 } },
    'It is nine.', // the summary
  ]);
  const budget = dollarBudget(
    0.001,
    ({ inputTokens, outputTokens }) => inputTokens * 1e-6 + outputTokens * 4e-6,
  );
  const agent = new ReActAgent({ name: 'guide', model, tools: [clock], use: [budget] });
  const { text, reason, usage } = await agent.call('What time is it?');
  console.assert(reason === 'limit' && text === 'It is nine.');
  console.assert(usage.inputTokens === 910 && usage.outputTokens === 55);
  console.assert(model.requests.length === 2); // what the model got, one entry for each request
  // #endregion

  model.assertDone();
  const rich = dollarBudget(0.002, ({ inputTokens }) => inputTokens * 1e-6);
  const other = new ScriptedModel([{ toolCalls: [{ name: 'clock' }] }, 'Nine.']);
  const { reason: end } = await new ReActAgent({
    name: 'guide',
    model: other,
    tools: [clock],
    use: [rich],
  }).call('What time is it?');
  expect(end).toBe('stop');
});

test('without a part that answers at a limit, the call ends with an empty answer', async () => {
  const clock = tool({
    name: 'clock',
    description: 'Tells the time.',
    input: { type: 'object', properties: {} },
    execute: () => '09:00',
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'clock' }] }]);
  const use = [dollarBudget(1, ({ inputTokens }) => inputTokens)];
  const { reason, message } = await new Agent({ name: 'guide', model, tools: [clock], use }).call(
    'What time is it?',
  );
  expect([reason, textOf(message)]).toEqual(['limit', '']);
  model.assertDone();
});
