import { expect, test, vi } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region production-agent
import {
  listSessions,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  userMessage,
  type KeyValueStore,
  type Usage,
} from '@isoloop/core';
import { rateLimit, spendCap, storedCounters } from '@isoloop/guards';
import { retry } from '@isoloop/core/resilience';
import { jsonlTrace, metrics } from '@isoloop/core/observe';
// #endregion
// #region turn-price
// #endregion
// #region delete-user
import { keywordMemory } from '@isoloop/recall'; // npm install minisearch
// #endregion

test('the page about production limits, counts and traces an agent, and deletes a user’s data', async () => {
  const model = new ScriptedModel([
    { text: 'Hello Ann.', usage: { inputTokens: 9, outputTokens: 3 } },
    {
      text: 'Go to Rome.',
      usage: { inputTokens: 6_200, cachedInputTokens: 2_800, outputTokens: 250 },
    },
  ]);
  const storeOf = (user: string): KeyValueStore => stores.get(user)!;
  const stores = new Map([['ann', new MemoryStore()]]);
  const counters = new MemoryStore();
  const lines: string[] = [];
  const sink = new WritableStream<Uint8Array>({
    write: (bytes) => void lines.push(new TextDecoder().decode(bytes)),
  });
  const log = vi.spyOn(console, 'log').mockReturnValue();

  // #region production-agent
  const traced = jsonlTrace(sink); // a file, or any WritableStream of bytes
  const agentOf = (userId: string, sessionId: string): ReActAgent =>
    new ReActAgent({
      name: 'assistant',
      model,
      userId, // in every event, metric and limit
      sessionId,
      memory: new SessionMemory(storeOf(userId), sessionId),
      limits: { iterations: 10, toolCalls: 20, tokens: 50_000, timeoutMs: 60_000 },
      use: [
        rateLimit({ perMinute: 10, perHour: 100, store: storedCounters(counters) }),
        spendCap({ limit: 200_000, store: storedCounters(counters) }), // tokens per user and day
        metrics({
          tokenUsage: ({ inputTokens, outputTokens }, { userId: user }) =>
            console.log(user, inputTokens, outputTokens),
        }),
        traced,
        retry(),
      ],
    });
  await agentOf('ann', 'notes').call('I am Ann.');
  await traced.settled(); // before a shutdown
  // #endregion

  // #region turn-price
  const dollars = { input: 0.25e-6, cached: 0.025e-6, output: 2e-6 }; // per token, as an example
  const priceOf = ({ inputTokens, cachedInputTokens = 0, outputTokens }: Usage): number =>
    (inputTokens - cachedInputTokens) * dollars.input +
    cachedInputTokens * dollars.cached +
    outputTokens * dollars.output;

  const { usage } = await agentOf('ann', 'trip').call('Where shall I go?');
  console.log(`${priceOf(usage).toFixed(5)} dollars`); // 0.00142 dollars
  // #endregion
  expect(log).toHaveBeenCalledWith('0.00142 dollars');

  const records = keywordMemory({ store: counters, namespace: 'ann' });
  await records.record([userMessage('I am Ann.')], { sessionId: 'notes' });

  // #region export-user
  const exportUser = async (userId: string) => {
    const store = storeOf(userId);
    const sessions = await listSessions(store);
    return Promise.all(
      sessions.map(async ({ sessionId, title }) => ({
        title,
        messages: await new SessionMemory(store, sessionId).read(),
      })),
    );
  };
  const copy = JSON.stringify(await exportUser('ann'), null, 2);
  // #endregion
  expect(copy).toContain('Hello Ann.');

  // #region delete-user
  const deleteUser = async (userId: string): Promise<void> => {
    const store = storeOf(userId);
    for (const { sessionId } of await listSessions(store))
      await new SessionMemory(store, sessionId).clear();
    await keywordMemory({ store: counters, namespace: userId }).clear(); // long-term memory
  };
  await deleteUser('ann');
  // #endregion

  expect(log).toHaveBeenCalledWith('ann', 9, 3);
  expect(lines.join('')).toContain('"run-end"');
  expect(await listSessions(storeOf('ann'))).toEqual([]);
  expect(await keywordMemory({ store: counters, namespace: 'ann' }).retrieve('Ann')).toEqual([]);
});
