import { IndexedDbSessions, IndexedDbStore } from '@isoloop/web-worker';
import { agentEndpoint } from '@isoloop/react';
import type { JsonValue } from '@isoloop/core';
import { expect, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import {
  linesOf,
  mountChat,
  type MountedChat,
} from '../../../web-worker/test-support/mounted-chat.ts';
import { cutOff, startTabs } from '../../../web-worker/test-support/tabs-under-test.ts';

const ready = async (view: MountedChat): Promise<void> => {
  await expect.poll(() => view.chat()?.status).toBe('ready');
};

test('if a tab deletes a conversation during an answer, both tabs show nothing, and it does not come back', async () => {
  const { open, sessionId } = startTabs();
  const views: MountedChat[] = [];
  const tabs = [open(), open()];
  for (const { worker } of tabs) {
    const options = { replies: cutOff, database: sessionId } as unknown as JsonValue;
    const view = mountChat(worker, { sessionId, options, timeoutMs: 120_000 });
    await ready(view);
    views.push(view);
  }
  const [one, other] = views as [MountedChat, MountedChat];
  void other.chat().sendMessage({ text: 'go' });
  await tabs[0]!.heard({ reached: 'middle' });
  await expect.poll(() => linesOf(one)).toHaveLength(2);
  // A message that waits for the answer must not bring the conversation back.
  void other.chat().sendMessage({ text: 'waits' });
  const sessions = new IndexedDbSessions({ store: new IndexedDbStore({ database: sessionId }) });
  await sessions.delete(sessionId);
  for (const view of views) {
    await expect.poll(() => linesOf(view)).toEqual([]);
    await ready(view);
    expect(view.chat().error).toBeUndefined();
  }
  expect(await sessions.list()).toEqual([]);
  expect(Object.keys(localStorage).filter((key) => key.includes(sessionId))).toEqual([]);
});

test('if a tab deletes a conversation of an endpoint, the other tab stops showing it', async () => {
  const endpoint = new ChatEndpoint(['Hello.']);
  const fetch: typeof globalThis.fetch = async (url, init) => {
    if (init?.method !== 'DELETE') return endpoint.fetch(url, init);
    await endpoint.agent.memory.clear();
    return new Response(null, { status: 204 });
  };
  const sessionId = crypto.randomUUID();
  const source = agentEndpoint('/api/chat', { fetch });
  // Another address of the same route, so that the two chats are those of two tabs.
  const sameSource = agentEndpoint(new URL('/api/chat', location.href).href, { fetch });
  const one = mountChat(source, { sessionId });
  const other = mountChat(sameSource, { sessionId });
  await ready(one);
  await ready(other);
  await one.chat().sendMessage({ text: 'hi' });
  await expect.poll(() => linesOf(other)).toEqual(['user: hi', 'assistant: Hello.']);
  await ready(other);
  await one.chat().sessions.delete(sessionId);
  await expect.poll(() => linesOf(other)).toEqual([]);
  await expect.poll(() => one.chat().sessions.current).not.toBe(sessionId);
});

test('a deletion does not overtake a message that is on its way', async () => {
  const endpoint = new ChatEndpoint(['Hello.']);
  let arrive = (): void => {};
  const onItsWay = new Promise<void>((resolve) => (arrive = resolve));
  const requests: string[] = [];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const isMessage = init?.method === 'POST' && String(url).endsWith('/api/chat');
    if (isMessage) await onItsWay;
    if (isMessage || init?.method === 'DELETE') requests.push(init.method!);
    return init?.method === 'DELETE'
      ? new Response(null, { status: 204 })
      : endpoint.fetch(url, init);
  };
  const sessionId = crypto.randomUUID();
  const view = mountChat(agentEndpoint('/api/chat', { fetch }), { sessionId });
  await ready(view);
  void view.chat().sendMessage({ text: 'hi' });
  await expect.poll(() => view.chat().status).toBe('submitted');
  const deleting = view.chat().sessions.delete(sessionId);
  await Promise.resolve();
  arrive();
  await deleting;
  expect(requests).toEqual(['POST', 'DELETE']);
});
