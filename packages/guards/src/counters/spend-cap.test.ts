import { expect, test } from 'vitest';
import {
  type AgentOptions,
  type AgentResult,
  ReActAgent,
  type ModelDelta,
  type Usage,
  tool,
} from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { countRequest, arc } from '@isoloop/core/tokens';
import { outputGuards } from '../output/output-guards.ts';
import { regexRule } from '../output/regex-rule.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { spendCap } from './spend-cap.ts';

const never = regexRule({ pattern: /forbidden/i, action: 'reject', name: 'never' });
const silent = (words: string): ScriptedReply => ({
  deltas: [...words].map((delta): ModelDelta[] => [{ type: 'text', id: 't', delta }]),
});

/**
 * Creates an agent with a spend cap and output guards. `costs` gets the usage of each call that
 * cost something, from the spend cap.
 */
function setUp(
  replies: readonly ScriptedReply[],
  options: Partial<AgentOptions> = {},
  lookahead: number | 'all' = 8,
) {
  const model = new ScriptedModel(replies);
  const costs: Usage[] = [];
  const meter = spendCap({ limit: 1e9, price: (usage) => costs.push(usage) });
  const extensions = [meter, outputGuards([never], { lookahead })];
  return {
    model,
    costs,
    agent: new ReActAgent({
      name: 'a',
      userId: 'ann',
      model,
      ...options,
      use: [...extensions, ...(options.use ?? [])],
    }),
  };
}

test('an agent without a user is refused before it spends anything, unless the cap has a key', async () => {
  const build = (key?: () => string) => {
    const model = new ScriptedModel(['Hi.', 'Hi again.']);
    const use = [spendCap({ limit: 1, ...(key && { key }) })];
    return { model, agent: new ReActAgent({ name: 'a', model, use }) };
  };
  const { agent, model } = build();
  await expect(agent.call('Hi')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining("needs the agent's `userId`") as string,
  });
  expect(model.requests).toEqual([]);
  const { agent: shared } = build(() => 'everybody');
  expect((await shared.call('Hi')).text).toBe('Hi.');
  expect((await shared.call('Hi')).reason).toBe('rejected');
});

function inputOf(model: ScriptedModel, request = 0): number {
  return countRequest(model.requests[request]!);
}

test.each([8, 'all'] as const)(
  'a reply that is rejected while it streams costs the part that was read: lookahead %s',
  async (lookahead) => {
    const { agent, model, costs } = setUp(
      [silent('This word is forbidden, and so on.')],
      {},
      lookahead,
    );
    const result = await agent.call('Hi');
    const read = 'This word is forbidden, and so on.'.slice(0, model.reads);
    expect(result).toMatchObject({
      reason: 'rejected',
      usage: { inputTokens: inputOf(model), outputTokens: arc.countText(read) },
    });
    expect(costs).toEqual([result.usage]);
  },
);

test('a reply that fails while it streams costs its text; a reply that fails before its first word costs nothing', async () => {
  const error = new Error('broken');
  const { agent, model, costs } = setUp([
    { deltas: [[{ type: 'text', id: 't', delta: 'Some words' }]], error },
    { error },
  ]);
  const result = await agent.call('Hi', { throwOnError: false });
  expect(result).toMatchObject({
    reason: 'error',
    usage: { inputTokens: inputOf(model), outputTokens: arc.countText('Some words') },
  });
  expect((await agent.call('Hi', { throwOnError: false })).usage).toEqual({
    inputTokens: 0,
    outputTokens: 0,
  });
  expect(costs).toEqual([result.usage]);
});

test('an interrupted or aborted reply costs the part that was read', async () => {
  const words = 'These are some words that somebody does not want to hear to their end.';
  for (const stop of ['interrupt', 'abort'] as const) {
    const { agent, model, costs } = setUp([
      [{ deltas: [[{ type: 'text', id: 't', delta: words }]] }, { hang: true }],
    ]);
    const controller = new AbortController();
    let seen = '';
    for await (const event of agent.stream('Hi', { signal: controller.signal })) {
      if (event.type !== 'reasoning-chunk' || seen) continue;
      seen = event.delta;
      if (stop === 'abort') controller.abort();
      else agent.interrupt();
    }
    expect(costs).toEqual([{ inputTokens: inputOf(model), outputTokens: arc.countText(seen) }]);
  }
});

test('an interrupt before the first word of the reply costs nothing', async () => {
  const { agent, costs } = setUp([{ hang: true }]);
  for await (const { type } of agent.stream('Hi')) if (type === 'pre-reasoning') agent.interrupt();
  expect(costs).toEqual([]);
});

test('the usage of a request is estimated only if the provider reports no usage', async () => {
  const look = tool({ name: 'look', description: 'Looks', input: {}, execute: () => 'found' });
  const call: ScriptedReply = {
    deltas: [[{ type: 'tool-input', index: 0, id: 'c', name: 'look', delta: '{}' }]],
  };
  const quiet = setUp([call, silent('Found.')], { tools: [look] });
  await quiet.agent.call('Hi');
  const outputTokens = arc.countText('{}') + arc.countText('Found.');
  expect(quiet.costs).toEqual([
    { inputTokens: inputOf(quiet.model) + inputOf(quiet.model, 1), outputTokens },
  ]);
  const telling = setUp([{ toolCalls: [{ name: 'look' }] }, 'Found.'], { tools: [look] });
  await telling.agent.call('Hi');
  expect(telling.costs).toEqual([{ inputTokens: 20, outputTokens: 10 }]);
});

test('spendCap() counts interrupted replies, with its token profile', async () => {
  const profile = { ...arc, countText: (text: string): number => text.length * 100 };
  const cap = spendCap({ limit: 500, profile });
  const { agent } = scriptedAgent([[{ text: 'Some words' }, { hang: true }]], {
    userId: 'ann',
    use: [cap],
  });
  for await (const { type } of agent.stream('Hi'))
    if (type === 'reasoning-chunk') agent.interrupt();
  const refused: AgentResult = await agent.call('Hi');
  expect(refused).toMatchObject({
    reason: 'rejected',
    error: { details: { category: 'RATE_LIMITED' } },
  });
  const wrong = () => spendCap({ limit: 500, profile: {} as never });
  expect(wrong).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining('profile') as string,
    }),
  );
});
