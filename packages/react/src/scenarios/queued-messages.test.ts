import { agentEndpoint, type UIMessage } from '@isoloop/react';
import { expect, onTestFinished, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import { HeldSource } from '../../../web-worker/test-support/held-source.ts';
import {
  linesOf,
  mountChat,
  type MountedChat,
} from '../../../web-worker/test-support/mounted-chat.ts';
import type { PageFixtureOptions } from '../../../web-worker/test-support/page.ts';
import { HeldMessages } from '../queue/held-messages.ts';
import { heldPlace } from '../queue/held-place.ts';
import { channelOf, deletedMessage } from '../source/endpoint-routes.ts';

const ready = async (view: MountedChat): Promise<void> => {
  await expect.poll(() => view.chat()?.status).toBe('ready');
};
const queuedIn = (view: MountedChat): readonly unknown[] =>
  view
    .chat()
    .queued.map(({ message: { parts }, state }) => [
      parts.map((part) => ('text' in part ? part.text : '')).join(''),
      state,
    ]);
const textMessage = (id: string, text: string): UIMessage => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text }],
});

function startWorker(): Worker {
  const worker = new Worker(new URL('../../../web-worker/test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  return worker;
}
const optionsOf = (sessionId: string, options: PageFixtureOptions) => ({
  agent: 'main',
  sessionId,
  timeoutMs: 120_000,
  options: { database: 'isoloop', ...options },
});

test('messages that are sent during an answer are shown, stored and sent in order; one that was withdrawn is not sent', async () => {
  const worker = startWorker();
  const sessionId = crypto.randomUUID();
  const replies = ['One.', 'Two.', 'Three.'];
  const view = mountChat(worker, optionsOf(sessionId, { replies, gated: true }));
  await ready(view);
  const sends = [view.chat().sendMessage({ text: 'a' })];
  await expect.poll(() => view.chat().status).toBe('submitted');
  for (const text of ['b', 'not this', 'c']) sends.push(view.chat().sendMessage({ text }));
  const waiting = [
    ['b', 'waiting'],
    ['not this', 'waiting'],
    ['c', 'waiting'],
  ];
  await expect.poll(() => queuedIn(view)).toEqual(waiting);
  expect(linesOf(view).filter((line) => line.startsWith('user'))).toEqual(['user: a']);
  const stored = new HeldMessages(heldPlace('localStorage', JSON.stringify(['main', sessionId])));
  expect(stored.list()).toHaveLength(3);
  await view.chat().withdraw(view.chat().queued[1]!.id);
  await expect.poll(() => queuedIn(view)).toEqual([waiting[0], waiting[2]]);
  worker.postMessage({ open: true });
  await Promise.all(sends);
  await ready(view);
  const lines = ['user: a', 'assistant: One.', 'user: b', 'assistant: Two.', 'user: c'];
  await expect.poll(() => linesOf(view)).toEqual([...lines, 'assistant: Three.']);
  expect(view.chat().queued).toEqual([]);
  expect(stored.list()).toEqual([]);
});

test('after a reload, a page sends the messages that an earlier page has left, but none that the agent has', async () => {
  const sessionId = crypto.randomUUID();
  const stored = new HeldMessages(heldPlace('localStorage', JSON.stringify(['main', sessionId])));
  for (const [id, text] of ['a', 'b'].entries()) stored.add(textMessage(`m${id}`, text));
  const first = mountChat(startWorker(), optionsOf(sessionId, { replies: ['One.', 'Two.'] }));
  const lines = ['user: a', 'assistant: One.', 'user: b', 'assistant: Two.'];
  await expect.poll(() => linesOf(first)).toEqual(lines);
  await expect.poll(() => stored.list()).toEqual([]);
  await ready(first);
  // The page was closed after the agent had the message.
  stored.add(textMessage('m1', 'b'));
  const second = mountChat(startWorker(), optionsOf(sessionId, { replies: ['Three.'] }));
  await expect.poll(() => stored.list()).toEqual([]);
  await ready(second);
  expect(linesOf(second)).toEqual(lines);
});

const half = { deltas: [[{ type: 'text', id: 't', delta: 'half ' }]], hang: true } as const;

/** Begins an answer, sends `b` meanwhile, and answers a deletion with the status. */
async function waitingMessage(deletionStatus: number) {
  const endpoint = new ChatEndpoint([half, 'Two.']);
  const fetch: typeof globalThis.fetch = async (url, init) => {
    if (init?.method !== 'DELETE') return endpoint.fetch(url as string, init);
    return new Response(null, { status: deletionStatus });
  };
  const sessionId = crypto.randomUUID();
  const view = mountChat(agentEndpoint('/api/chat', { fetch }), { sessionId });
  await ready(view);
  void view.chat().sendMessage({ text: 'a' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: half ');
  void view.chat().sendMessage({ text: 'b' });
  await expect.poll(() => queuedIn(view)).toEqual([['b', 'waiting']]);
  const keys = (): readonly string[] =>
    Object.keys(sessionStorage).filter((key) => key.includes('queue') && key.includes(sessionId));
  expect(keys()).toHaveLength(1);
  return { view, keys, sessionId };
}

test('a deleted conversation forgets the messages that wait', async () => {
  const { view, keys, sessionId } = await waitingMessage(204);
  await view.chat().sessions.delete(sessionId);
  expect(keys()).toEqual([]);
});

test('if a deletion fails, the page stays in the conversation, shows the error and keeps the queue', async () => {
  const { view, keys, sessionId } = await waitingMessage(500);
  await view.chat().sessions.delete(sessionId);
  await expect.poll(() => view.chat().error).toMatchObject({ code: 'INTERNAL' });
  expect(view.chat().id).toBe(sessionId);
  expect(queuedIn(view)).toEqual([['b', 'waiting']]);
  expect(keys()).toHaveLength(1);
  await view.chat().stop();
  await expect.poll(() => linesOf(view).slice(2)).toEqual(['user: b', 'assistant: Two.']);
});

test('if another tab deletes the conversation, this tab forgets the messages that wait', async () => {
  const { keys, sessionId } = await waitingMessage(204);
  const { pathname } = new URL(`/api/chat/${sessionId}`, location.href);
  const otherTab = channelOf(pathname);
  otherTab.postMessage(deletedMessage);
  otherTab.close();
  await expect.poll(keys).toEqual([]);
});

const refused = (): never => {
  throw new DOMException('Not here.', 'SecurityError');
};
test.each([
  ['localStorage', globalThis, { get: refused }],
  [
    'locks',
    navigator.locks,
    { value: () => Promise.reject(new DOMException('', 'SecurityError')) },
  ],
] as const)(
  'where the browser refuses %s, messages that wait are sent',
  async (name, owner, property) => {
    const key = name === 'locks' ? 'request' : name;
    const original = Object.getOwnPropertyDescriptor(owner, key);
    Object.defineProperty(owner, key, { configurable: true, ...property });
    onTestFinished(() => {
      if (original) Object.defineProperty(owner, key, original);
      else Reflect.deleteProperty(owner, key);
    });
    const worker = startWorker();
    const replies = ['One.', 'Two.'];
    const view = mountChat(worker, optionsOf(crypto.randomUUID(), { replies, gated: true }));
    await ready(view);
    void view.chat().sendMessage({ text: 'a' });
    await expect.poll(() => view.chat().status).toBe('submitted');
    void view.chat().sendMessage({ text: 'b' });
    await expect.poll(() => queuedIn(view)).toEqual([['b', 'waiting']]);
    worker.postMessage({ open: true });
    const lines = ['user: a', 'assistant: One.', 'user: b', 'assistant: Two.'];
    await expect.poll(() => linesOf(view)).toEqual(lines);
    await ready(view);
  },
);

test.each(['{"id":', 'null', '5', '{"id":"x","role":"user"}'])(
  'an entry of the storage that is no message does not break the page: %s',
  async (entry) => {
    const { fetch } = new ChatEndpoint(['Hello.']);
    const sessionId = crypto.randomUUID();
    const { name } = channelOf(`/api/chat/${sessionId}`);
    const { prefix } = heldPlace('sessionStorage', JSON.stringify([name, null]));
    sessionStorage.setItem(`${prefix}1 x`, entry);
    onTestFinished(() => sessionStorage.clear());
    const view = mountChat(agentEndpoint('/api/chat', { fetch }), { sessionId });
    await ready(view);
    expect(view.chat().queued).toEqual([]);
    await view.chat().sendMessage({ text: 'hi' });
    await expect.poll(() => linesOf(view)).toEqual(['user: hi', 'assistant: Hello.']);
  },
);

test('messages that are too large for the storage keep their place', () => {
  const held = new HeldMessages(heldPlace('sessionStorage', crypto.randomUUID()));
  onTestFinished(() => sessionStorage.clear());
  held.add(textMessage('large', 'x'.repeat(11_000_000)));
  held.add(textMessage('small', 'b'));
  expect(held.list().map(({ id }) => id)).toEqual(['large', 'small']);
  expect(held.remove('large')).toBe(true);
  expect(held.list().map(({ id }) => id)).toEqual(['small']);
});

test('a page shows the messages that wait at an endpoint, and withdraws them there', async () => {
  const endpoint = new ChatEndpoint([]);
  const message = textMessage('m1', 'later');
  let queued: readonly object[] = [{ id: 'm1', message, state: 'failed', error: { code: 'X' } }];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    if (init?.method === 'DELETE' && String(url).endsWith('/queue/m1')) {
      queued = [];
      return new Response(null, { status: 204 });
    }
    if (!String(url).endsWith('/messages')) return endpoint.fetch(url as string, init);
    return Response.json({ messages: [], queued });
  };
  const view = mountChat(agentEndpoint('/api/chat', { fetch }), { sessionId: crypto.randomUUID() });
  await ready(view);
  expect(queuedIn(view)).toEqual([['later', 'failed']]);
  await view.chat().withdraw('m1');
  await expect.poll(() => queuedIn(view)).toEqual([]);
  expect(view.chat().error).toBeUndefined();
});

test('a message that cannot be read while an answer runs becomes `error`, and the next one is sent', async () => {
  const source = new HeldSource();
  const view = mountChat(source, { sessionId: crypto.randomUUID() });
  await ready(view);
  const sends = [view.chat().sendMessage({ text: 'a' })];
  await expect.poll(() => source.requests).toHaveLength(1);
  sends.push(view.chat().sendMessage({ files: null as never }));
  sends.push(view.chat().sendMessage({ text: 'b' }));
  // The answer ends later than the attempt to read the files.
  await expect.poll(() => queuedIn(view)).toEqual([['b', 'waiting']]);
  source.batch({ type: 'start', messageId: '1' });
  source.end();
  await expect.poll(() => source.requests).toHaveLength(2);
  source.batch({ type: 'start', messageId: '2' });
  source.end();
  await Promise.all(sends);
  await expect.poll(() => view.chat().error).toBeInstanceOf(TypeError);
  expect(linesOf(view).filter((line) => line.startsWith('user'))).toEqual(['user: a', 'user: b']);
});

test('if a page cannot tell whether the agent has a message of an earlier page, it keeps the message and says so', async () => {
  const failure = new Error('The history cannot be read.');
  const source = new HeldSource();
  // The first history shows the chat. The second one is read before the message is sent.
  Object.defineProperty(source, 'failure', { get: () => (source.reads > 1 ? failure : undefined) });
  const { storage, key } = source.link().queuePlace;
  const stored = new HeldMessages(heldPlace(storage, key));
  stored.add(textMessage('left', 'later'));
  const view = mountChat(source, { sessionId: crypto.randomUUID() });
  await expect.poll(() => view.chat().error).toBe(failure);
  expect(source.requests).toEqual([]);
  expect(stored.list()).toHaveLength(1);
  stored.clear();
});

test('if a page could not tell whether the agent has a message of an earlier page, it tries again after the next load', async () => {
  const source = new HeldSource();
  const failure = new TypeError('Failed to fetch');
  let failing = 2;
  // The first history shows the chat. The second one is read before the message is sent.
  Object.defineProperty(source, 'failure', {
    get: () => (source.reads === failing ? failure : undefined),
  });
  const { storage, key } = source.link().queuePlace;
  const stored = new HeldMessages(heldPlace(storage, key));
  stored.add(textMessage('left', 'later'));
  const view = mountChat(source, { sessionId: crypto.randomUUID() });
  await expect.poll(() => view.chat()?.error).toBe(failure);
  expect(queuedIn(view)).toEqual([['later', 'waiting']]);
  failing = 0;
  source.look();
  await expect.poll(() => source.requests).toHaveLength(1);
  source.end();
  await ready(view);
  expect(linesOf(view)).toEqual(['user: later']);
  expect(stored.list()).toEqual([]);
});
