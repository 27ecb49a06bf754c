import { MemoryStore, ReActAgent, SessionMemory } from '@isoloop/core';
import { lengthGuard } from '@isoloop/guards';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { plainMemory } from '@test/support/plain-memory.ts';
import { storeTitle } from './title.ts';

function titled() {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const model = new ScriptedModel(['Yes.', 'Yes.', 'Yes.']);
  const agent = new ReActAgent({ name: 'a', model, memory, use: [lengthGuard({ max: 20 })] });
  let count = 0;
  storeTitle(agent, () => (count += 1));
  const title = async (): Promise<unknown> => (await memory.view()).state['title'];
  return { agent, memory, title, count: () => count };
}

test('the first message that the guards accept becomes the title', async () => {
  const { agent, title, count } = titled();
  await agent.call('This message is longer than the guard allows.').catch(() => {});
  expect([await title(), count()]).toEqual([undefined, 0]);
  await agent.call('Tea?');
  await agent.call('Cake?');
  expect([await title(), count()]).toEqual(['Tea?', 1]);
});

test('a title that the user gave stays, and a cleared session gets a new one', async () => {
  const { agent, memory, title } = titled();
  await memory.rename('Drinks');
  await agent.call('Tea?');
  expect(await title()).toBe('Drinks');
  await memory.clear();
  await agent.call('Cake?');
  expect(await title()).toBe('Cake?');
});

test('a memory without notes gets no title', async () => {
  const memory = plainMemory();
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Yes.']), memory });
  storeTitle(agent, () => expect.unreachable());
  expect((await agent.call('Tea?')).text).toBe('Yes.');
});
