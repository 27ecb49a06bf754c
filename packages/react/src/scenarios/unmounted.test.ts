import { agentEndpoint } from '@isoloop/react';
import { expect, onTestFinished, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import { watchLeftBehind } from '../../../web-worker/test-support/left-behind.ts';
import {
  linesOf,
  mountChat,
  type MountedChat,
} from '../../../web-worker/test-support/mounted-chat.ts';

const half = { deltas: [[{ type: 'text', id: 't', delta: 'half ' }]], hang: true } as const;

async function begun(view: MountedChat, line: string): Promise<void> {
  await expect.poll(() => view.chat()?.status).toBe('ready');
  void view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(view)[1]).toBe(line);
}

function endpointView(endpoint: ChatEndpoint, throttleMs = 0): MountedChat {
  const source = agentEndpoint('/api/chat', { fetch: endpoint.fetch });
  return mountChat(source, { sessionId: crypto.randomUUID(), throttleMs, listSessions: true });
}

test.for([0, 50])(
  'a page that unmounts during an answer of an endpoint leaves nothing behind (throttleMs: %s)',
  async (throttleMs) => {
    const leftBehind = watchLeftBehind();
    const endpoint = new ChatEndpoint([half]);
    const view = endpointView(endpoint, throttleMs);
    await begun(view, 'assistant: half ');
    expect(leftBehind()).toContain('BroadcastChannel');
    expect(leftBehind()).toContain('visibilitychange on HTMLDocument');
    view.unmount();
    await expect.poll(leftBehind).toEqual([]);
  },
);

test('a page that unmounts while it tries to read a lost answer leaves no timer behind', async () => {
  const leftBehind = watchLeftBehind();
  const endpoint = new ChatEndpoint([half]);
  let isDown = false;
  const fetch: typeof globalThis.fetch = (url, init) =>
    isDown ? Promise.reject(new TypeError('network error')) : endpoint.fetch(url as string, init);
  const source = agentEndpoint('/api/chat', { fetch });
  const view = mountChat(source, { sessionId: crypto.randomUUID() });
  await begun(view, 'assistant: half ');
  isDown = true;
  endpoint.dropClients();
  await expect.poll(leftBehind).toContain('Timeout of 1000 ms');
  view.unmount();
  await expect.poll(leftBehind).toEqual([]);
});

test('a page that unmounts during an answer of a worker leaves nothing behind, and not the worker', async () => {
  const worker = new Worker(new URL('../../../web-worker/test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const leftBehind = watchLeftBehind();
  const view = mountChat(worker, {
    agent: 'main',
    sessionId: crypto.randomUUID(),
    options: { database: 'isoloop', replies: ['Hello.'], gated: true },
    throttleMs: 50,
    timeoutMs: 120_000,
  });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  void view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => view.chat().status).toBe('submitted');
  expect(leftBehind()).toContain('Interval of 30000 ms');
  expect(leftBehind()).toContain('message on MessagePort');
  view.unmount();
  worker.postMessage({ open: true });
  await expect.poll(leftBehind).toEqual([]);
});

test('a page that unmounts at once, before the worker answers, leaves nothing behind', async () => {
  const leftBehind = watchLeftBehind();
  const worker = new Worker(new URL('../../../web-worker/test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const options = { agent: 'main', sessionId: crypto.randomUUID(), timeoutMs: 120_000 };
  const view = mountChat(worker, options);
  await expect.poll(() => view.chat()?.status).toBe('loading');
  view.unmount();
  await expect.poll(leftBehind).toEqual([]);
});

test('a page that unmounts before a worker that never answers leaves nothing behind', async () => {
  const leftBehind = watchLeftBehind();
  const worker = new Worker(
    new URL('../../../web-worker/test-support/silent.ts', import.meta.url),
    {
      type: 'module',
    },
  );
  onTestFinished(() => worker.terminate());
  const view = mountChat(worker, { sessionId: crypto.randomUUID(), timeoutMs: 1_200_000 });
  await expect.poll(() => view.chat()?.status).toBe('loading');
  expect(leftBehind()).toContain('Interval of 300000 ms');
  view.unmount();
  await expect.poll(leftBehind).toEqual([]);
});
