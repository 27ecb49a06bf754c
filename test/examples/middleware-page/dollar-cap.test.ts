import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ReActAgent, tool, type Middleware, type Usage } from '@isoloop/core';
import { summarizeHistory } from '@isoloop/core/context';
import { withStream, wrapModel } from '@isoloop/core/model';
import { ScriptedModel } from '@isoloop/core/testing';
// #region dollar-cap
import { perRun } from '@isoloop/core/agent';

/** Ends an agent call that has spent `limit` dollars. `price`: dollars of one reply. */
export function dollarCap(
  limit: number,
  price: (modelId: string, usage: Usage) => number,
): Middleware {
  const spentIn = perRun(() => ({ dollars: 0 }));
  return {
    name: 'dollarCap',
    wrapModel: (next) =>
      withStream(next, async function* (request, context) {
        let asked = next.modelId;
        const onModel: typeof context.onModel = (model) => {
          asked = model.modelId; // `fallback()` and `handOff()` tell which model they ask
          context.onModel?.(model);
        };
        for await (const deltas of next.stream(request, { ...context, onModel })) {
          for (const delta of deltas)
            if (delta.type === 'finish' && delta.usage && context.run)
              spentIn(context.run).dollars += price(asked, delta.usage);
          yield deltas;
        }
      }),
    wrapRequest: (draft, next, run) => {
      const isSpent = spentIn(run).dollars >= limit;
      return next(isSpent ? { ...draft, limit: draft.limit ?? 'limit' } : draft);
    },
  };
}
// #endregion
// #region use-dollar-cap
import { fallback } from '@isoloop/core/resilience';
// #endregion

test('a middleware of your own prices each reply by the model that wrote it', async () => {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: { type: 'object', properties: {} },
    execute: () => 'Nothing.',
  });
  const usage = { inputTokens: 1_000, outputTokens: 0 };
  const asks = { toolCalls: [{ name: 'look' }], usage };
  const large = new ScriptedModel([asks, { error: new Error('busy') }, 'That was it.'], {
    modelId: 'large',
  });
  const small = new ScriptedModel([asks], { modelId: 'small' });

  // #region use-dollar-cap
  const perToken: Readonly<Record<string, number>> = { large: 2e-6, small: 0.5e-6 };
  const cap = dollarCap(0.0025, (modelId, { inputTokens }) => inputTokens * perToken[modelId]!);
  const agent = new ReActAgent({
    name: 'assistant',
    model: large,
    tools: [look],
    use: [cap, fallback([small])],
  });
  const { reason } = await agent.call('Look twice.'); // 0.002 and 0.0005 dollars
  console.assert(reason === 'limit'); // the summary is one more request
  // #endregion

  expect([large.requests.length, small.requests.length]).toEqual([3, 1]);
  large.assertDone();
});

test('the cap also counts a model that other middleware asks itself, if it wraps that model', async () => {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: { type: 'object', properties: {} },
    execute: () => 'Nothing at all. '.repeat(50),
  });
  const usage = { inputTokens: 1_000, outputTokens: 0 };
  const asks = { toolCalls: [{ name: 'look' }], usage };
  const large = new ScriptedModel([asks, 'That was it.', 'It still is.'], { modelId: 'large' });
  const small = new ScriptedModel([{ text: 'They looked.', usage }], { modelId: 'small' });
  const spent: string[] = [];
  const cap = dollarCap(1, (modelId, { inputTokens }) => {
    spent.push(`${modelId} ${inputTokens}`);
    return 0;
  });
  const agent = new ReActAgent({
    name: 'assistant',
    model: large,
    tools: [look],
    use: [
      cap,
      summarizeHistory({
        model: wrapModel(small, cap),
        maxTokens: 100,
        summaryTokens: 50,
        keep: 1,
      }),
    ],
  });
  await agent.call('Look around. '.repeat(50));
  expect(spent).toEqual(['large 1000', 'large 10']);
  await agent.call('And now?');
  expect(spent.slice(2)).toEqual(['small 1000', 'large 10']);
});
