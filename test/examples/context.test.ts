import { expect, test } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region fit-context
import {
  AgentError,
  assistantMessage,
  MemoryStore,
  ReActAgent,
  textOf,
  tool,
  userMessage,
} from '@isoloop/core';
import {
  answersOnly,
  clearToolResults,
  contextPolicy,
  fitContext,
  lastTurns,
  successfulTurns,
  summarizeHistory,
} from '@isoloop/core/context';
// #endregion
// #region context-chain
// #endregion
// #region history-views
// #endregion
// #region context-policy
// #endregion

test('fitContext() removes old messages that do not fit the window', async () => {
  const model = new ScriptedModel(['Yes.']);

  // #region fit-context
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    use: [fitContext({ window: 128_000, reserveOutput: 4_000 })],
  });
  // #endregion

  await agent.observe([userMessage('long '.repeat(200_000)), userMessage('short')]);
  const removed: number[] = [];
  for await (const event of agent.stream('Hello'))
    if (event.type === 'context-fitted') removed.push(event.removed);
  expect(removed).toEqual([1]);
  expect(model.requests[0]!.messages.map(textOf)).toEqual(['short', 'Hello']);
});

test('context policies form a chain: clear old tool results, then summarize', async () => {
  const search = tool({
    name: 'search',
    description: 'Searches',
    input: {},
    execute: () => 'found '.repeat(1_000),
  });
  const call = { toolCalls: [{ name: 'search' }] };
  const model = new ScriptedModel([...Array.from({ length: 11 }, () => call), 'Done.', 'Yes.'], {
    features: { contextWindow: 60_000 },
  });
  const small = new ScriptedModel(['They searched.']);
  const store = new MemoryStore();

  // #region context-chain
  const summaries = summarizeHistory({ model: small, store, timeoutMs: 10_000 }); // default: the agent's own model, stored in memory
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools: [search],
    use: [clearToolResults({ maxTokens: 10_000, keep: 5, exclude: ['plan'] }), summaries],
    limits: { iterations: 20 },
  });
  for await (const event of agent.stream('Look for it.')) {
    if (event.type === 'context-fitted') console.log(event.removed, event.before, event.after);
  }
  // #endregion

  const long = 'long '.repeat(10_000);
  await agent.observe([
    userMessage(long),
    assistantMessage(long),
    userMessage(long),
    assistantMessage(long),
  ]);
  await agent.call('Well?');
  const texts = model.requests.map(({ messages }) => JSON.stringify(messages));
  expect(texts.findIndex((text) => text.includes('[cleared]'))).toBe(7);
  expect(texts.at(-1)).toContain('They searched.');
  small.assertDone();
  expect(await store.keys('')).toHaveLength(1);
  await summaries.deleteSession(agent.sessionId);
  expect(await store.keys('')).toEqual([]);
});

test('history views such as lastTurns() send the model a part of the history', async () => {
  const down = { error: new AgentError('MODEL_SERVER', 'down') };
  const look = tool({ name: 'look', description: 'Looks', input: {}, execute: () => 'found' });
  const model = new ScriptedModel(
    ['One.', down, { toolCalls: [{ name: 'look' }] }, 'Two.', 'Three.'],
    {
      features: { contextWindow: 8_000 },
    },
  );

  // #region history-views
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools: [look],
    use: [successfulTurns(), lastTurns(10), answersOnly(), fitContext()],
  });
  // #endregion

  await agent.call('First?');
  await agent.call('Broken?', { throwOnError: false });
  await agent.call('Second?');
  await agent.call('Third?');
  expect(model.requests.at(-1)!.messages.map(textOf)).toEqual([
    'First?',
    'One.',
    'Second?',
    'Two.',
    'Third?',
  ]);
});

test('a custom context policy can remove messages', async () => {
  const model = new ScriptedModel(['Here.']);

  // #region context-policy
  const withoutDrafts = contextPolicy({
    fit({ messages, questionId }) {
      const kept = messages.filter(({ id, metadata }) => id === questionId || !metadata?.['draft']);
      return { messages: kept, removed: messages.length - kept.length, before: 0, after: 0 }; // zero: it does not count tokens
    },
  });
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    use: [withoutDrafts, fitContext({ window: 32_000 })],
  });
  // #endregion

  await agent.observe([userMessage('draft', { metadata: { draft: true } }), userMessage('final')]);
  await agent.call('Where is it?');
  expect(model.requests[0]!.messages.map(textOf)).toEqual(['final', 'Where is it?']);
});
