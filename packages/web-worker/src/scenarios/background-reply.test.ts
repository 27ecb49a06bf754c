import { ReActAgent } from '@isoloop/core';
import { openaiResponses } from '@isoloop/core/responses';
import { expect, onTestFinished, test } from 'vitest';
import { BackgroundProvider, lookTool } from '@test/provider-server/background-provider.ts';
import { IndexedDbMemory } from '../store/indexed-db-memory.ts';
import { IndexedDbStore } from '../store/indexed-db-store.ts';
import { testDatabase } from '../../test-support/database.ts';

test('a new tab finds an unfinished background reply in IndexedDB and continues it instead of asking again', async () => {
  const provider = new BackgroundProvider();
  const sessionId = crypto.randomUUID();
  const database = testDatabase();
  const memoryOfTab = (): IndexedDbMemory =>
    new IndexedDbMemory(sessionId, { store: new IndexedDbStore({ database }) });
  const { look, runs } = lookTool();
  const agentOfTab = (): ReActAgent =>
    new ReActAgent({
      name: 'assistant',
      model: openaiResponses({ model: 'gpt-5.4', background: true, fetch: provider.fetch }),
      tools: [look],
      memory: memoryOfTab(),
    });
  provider.holdAnswer = 4;
  const death = new AbortController();
  const first = agentOfTab().stream('Where?', { detached: true, signal: death.signal });
  first.result.catch(() => undefined);
  // The last writes of the run need the database.
  onTestFinished(async () => {
    death.abort();
    await Promise.allSettled([first.result]);
  });
  await expect.poll(async () => (await memoryOfTab().view()).reply?.state?.['id']).toBe('resp_2');
  provider.holdAnswer = Infinity;
  expect((await agentOfTab().call()).text).toBe(provider.answer);
  expect(provider.generations).toHaveLength(2);
  expect(runs()).toBe(1);
});
