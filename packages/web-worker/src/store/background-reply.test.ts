import { ReActAgent } from '@isoloop/core';
import { openaiResponses } from '@isoloop/core/openai';
import { expect, test } from 'vitest';
import {
  BackgroundProvider,
  lookTool,
} from '../../../../test/provider-server/background-provider.ts';
import { IndexedDbMemory } from './indexed-db-memory.ts';

test('a new tab finds an unfinished background reply in IndexedDB and continues it instead of asking again', async () => {
  const provider = new BackgroundProvider();
  const sessionId = crypto.randomUUID();
  const { look, runs } = lookTool();
  const agentOfTab = (): ReActAgent =>
    new ReActAgent({
      name: 'assistant',
      model: openaiResponses({ model: 'gpt-5.4', background: true, fetch: provider.fetch }),
      tools: [look],
      memory: new IndexedDbMemory(sessionId),
    });
  provider.holdAnswer = 4;
  const first = agentOfTab().stream('Where?', { detached: true });
  first.result.catch(() => undefined);
  await expect
    .poll(async () => (await new IndexedDbMemory(sessionId).view()).reply?.state?.['id'])
    .toBe('resp_2');
  provider.holdAnswer = Infinity;
  expect((await agentOfTab().call()).text).toBe(provider.answer);
  expect(provider.generations).toHaveLength(2);
  expect(runs()).toBe(1);
});
