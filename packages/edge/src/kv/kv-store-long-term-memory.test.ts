import { env } from 'cloudflare:workers';
import { assistantMessage, userMessage } from '@isoloop/core';
import { keywordMemory } from '@isoloop/recall';
import { expect, test } from 'vitest';
import { KvStore } from './kv-store.ts';

const kv = (env as { readonly CHAT_KV: KVNamespace }).CHAT_KV;

test('isolates share a long-term memory in KV, which forgets a deleted session and can be cleared', async () => {
  const namespace = `user ${crypto.randomUUID()}`;
  const open = (): ReturnType<typeof keywordMemory> =>
    keywordMemory({ store: new KvStore(kv), namespace });
  await open().record([userMessage('うちの猫はモモです。'), assistantMessage('かわいい！')], {
    sessionId: 'a/1',
  });
  await open().record([userMessage('I live in Lisbon.')], { sessionId: 'b' });
  const [found, ...more] = await open().retrieve('猫の名前は？');
  expect(found).toMatchObject({
    text: 'user: うちの猫はモモです。\nassistant: かわいい！',
    sessionId: 'a/1',
  });
  expect(more).toEqual([]);

  await open().deleteSession('a/1');
  expect(await open().retrieve('猫')).toEqual([]);
  expect((await open().retrieve('Where do I live?')).length).toBe(1);
  await open().clear();
  expect(await new KvStore(kv).keys(`ltm:${encodeURIComponent(namespace)}:`)).toEqual([]);
});
