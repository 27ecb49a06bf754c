import { agentEndpoint } from '@isoloop/react';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import {
  linesOf,
  mountChat,
  type MountedChat,
} from '../../../web-worker/test-support/mounted-chat.ts';

interface Opened {
  readonly view: MountedChat;
  /** Requests since the browser is offline, by method. */
  readonly methods: string[];
  readonly goOnline: () => void;
}

/** Opens a chat, and sends a message while the browser is offline. */
async function sentOffline(): Promise<Opened> {
  const endpoint = new ChatEndpoint(['Hello.', 'Next.']);
  const online = vi.spyOn(navigator, 'onLine', 'get');
  onTestFinished(() => online.mockRestore());
  const methods: string[] = [];
  const fetch: typeof globalThis.fetch = (url, init) => {
    if (navigator.onLine) return endpoint.fetch(url as string, init);
    methods.push(init?.method ?? 'GET');
    return Promise.reject(new TypeError('Failed to fetch'));
  };
  const view = mountChat(agentEndpoint('/api/chat', { fetch }), { sessionId: crypto.randomUUID() });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  online.mockReturnValue(false);
  void view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => methods).toEqual(['POST']);
  const goOnline = (): void => {
    online.mockReturnValue(true);
    dispatchEvent(new Event('online'));
  };
  return { view, methods, goOnline };
}

test('a message that is sent offline waits, and is sent when the browser is online', async () => {
  const { view, methods, goOnline } = await sentOffline();
  expect(view.chat().status).toBe('submitted');
  expect(view.chat().error).toBeUndefined();
  goOnline();
  await expect.poll(() => view.chat().status).toBe('ready');
  expect(linesOf(view)).toEqual(['user: go', 'assistant: Hello.']);
  expect(methods).toEqual(['POST']);
});

test('stop() takes back a message that waits for the network', async () => {
  const { view, methods, goOnline } = await sentOffline();
  await view.chat().stop();
  expect(view.chat().status).toBe('ready');
  expect(view.chat().error).toBeUndefined();
  expect(methods).toEqual(['POST']);
  goOnline();
  await view.chat().sendMessage({ text: 'next' });
  await expect.poll(() => linesOf(view).at(-1)).toBe('assistant: Hello.');
});
