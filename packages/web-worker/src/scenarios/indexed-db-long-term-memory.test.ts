import { assistantMessage, userMessage } from '@isoloop/core';
import { keywordMemory } from '@isoloop/recall';
import { expect, test } from 'vitest';
import { IndexedDbStore } from '../store/indexed-db-store.ts';
import { testDatabase } from '../../test-support/database.ts';

test('tabs share a long-term memory in IndexedDB; it forgets a deleted session and can be cleared', async () => {
  const namespace = `user ${crypto.randomUUID()}`;
  const database = testDatabase();
  const store = (): IndexedDbStore => new IndexedDbStore({ database });
  const here = keywordMemory({ store: store(), namespace });
  const there = keywordMemory({ store: store(), namespace });
  expect(await there.retrieve('猫')).toEqual([]);
  await here.record([userMessage('うちの猫はモモです。'), assistantMessage('かわいい！')], {
    sessionId: 'a/1',
  });
  await here.record([userMessage('I live in Lisbon.')], { sessionId: 'b' });
  expect((await there.retrieve('猫の名前は？')).map(({ text }) => text)).toEqual([
    'user: うちの猫はモモです。\nassistant: かわいい！',
  ]);

  await there.deleteSession('a/1');
  expect(await here.retrieve('猫')).toEqual([]);
  expect((await here.retrieve('Where do I live?')).length).toBe(1);
  await here.clear();
  expect(await store().keys('ltm:')).toEqual([]);
});
