import {
  agentEndpoint,
  useAgentChat,
  useAgentEvents,
  type AgentChatHelpers,
  type AgentSource,
  type AgentTimelineEvent,
} from '@isoloop/react';
import { createElement as h, useLayoutEffect, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, onTestFinished, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import {
  linesOf,
  mountChat,
  type MountedChat,
} from '../../../web-worker/test-support/mounted-chat.ts';

const ready = async (view: MountedChat): Promise<void> => {
  await expect.poll(() => view.chat()?.status).toBe('ready');
};

/** Shows the conversation. With another spelling of the address, it is another page's chat. */
function open(
  { fetch }: Pick<ChatEndpoint, 'fetch'>,
  sessionId: string,
  api = '/api/chat',
  listSessions = false,
): MountedChat<readonly AgentTimelineEvent[]> {
  const source = agentEndpoint(api, { fetch });
  return mountChat(source, { sessionId, listSessions }, { hook: useAgentEvents });
}
const sameAddress = new URL('/api/chat', location.href).href;
const half = { deltas: [[{ type: 'text', id: 't', delta: 'half ' }]], hang: true } as const;

test('shows the answer of an endpoint, sends approvals, and lists conversations', async () => {
  const asks = { toolCalls: [{ name: 'send', input: { to: 'Bob' } }] };
  const endpoint = new ChatEndpoint([asks, 'Done.', 'Hello.']);
  const view = open(endpoint, crypto.randomUUID(), '/api/chat', true);
  await ready(view);
  await view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => view.chat().approvals).toHaveLength(1);
  await view.chat().approvals[0]!.edit({ to: 'Ann' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: send output-available sent | Done.');
  const parts = view.chat().messages[1]!.parts;
  expect(parts.find((part) => 'toolCallId' in part)).toMatchObject({ input: { to: 'Ann' } });
  await ready(view);
  expect(view.value().some(({ type }) => type === 'post-acting')).toBe(true);
  await expect
    .poll(() => view.chat().sessions.list)
    .toMatchObject([{ sessionId: 'c', title: 'One' }]);
  await view.chat().sessions.delete('c');
  await expect.poll(() => view.chat().error).toMatchObject({ code: 'NOT_FOUND' });
});

test('an edit that the endpoint refuses leaves the approval open', async () => {
  const asks = { toolCalls: [{ name: 'send', input: { to: 'Bob' } }] };
  const endpoint = new ChatEndpoint([asks, 'Done.']);
  const fetch: typeof globalThis.fetch = async (url, init) => {
    if (!String(init?.body).includes('"to":20')) return endpoint.fetch(url as string, init);
    const error = { code: 'INVALID_DECISION', message: 'The edit does not fit.' };
    return Response.json({ error }, { status: 400 });
  };
  const view = open({ fetch }, crypto.randomUUID());
  await ready(view);
  await view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => view.chat().approvals).toHaveLength(1);
  await view.chat().approvals[0]!.edit({ to: 20 });
  await expect.poll(() => view.chat().error).toMatchObject({ code: 'INVALID_DECISION' });
  expect(view.chat().approvals).toMatchObject([{ toolName: 'send', input: { to: 'Bob' } }]);
});

test('a component that sends a message before the chat has connected gets an answer', async () => {
  const endpoint = new ChatEndpoint(['Hello.']);
  const source = agentEndpoint('/api/chat', { fetch: endpoint.fetch });
  const container = document.createElement('div');
  const root = createRoot(container);
  onTestFinished(() => root.unmount());
  root.render(h(Page, { source, sessionId: crypto.randomUUID() }));
  await expect.poll(() => container.textContent).toBe('goHello.');
});

function Page({ source, sessionId }: { readonly source: AgentSource; readonly sessionId: string }) {
  const { messages, sendMessage } = useAgentChat(source, { sessionId });
  const texts = messages.flatMap(({ parts }) => parts.map((part) => 'text' in part && part.text));
  return h('p', null, texts, h(Sender, { send: sendMessage }));
}

/** A layout effect runs long before the effects of the hook, as a click on a slow page can. */
function Sender({ send }: { readonly send: AgentChatHelpers['sendMessage'] }): ReactNode {
  useLayoutEffect(() => void send({ text: 'go' }), [send]);
  return null;
}

test('a reloaded page shows the running answer, and stop() ends it at the endpoint', async () => {
  const [endpoint, id] = [new ChatEndpoint([half]), crypto.randomUUID()];
  const before = open(endpoint, id);
  await ready(before);
  void before.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(before)[1]).toBe('assistant: half ');
  const view = open(endpoint, id, sameAddress);
  await expect.poll(() => linesOf(view)).toEqual(['user: go', 'assistant: half ']);
  await expect.poll(() => view.chat().status).toBe('continuing');
  await view.chat().stop();
  await expect.poll(() => endpoint.isRunning).toBe(false);
  for (const each of [before, view]) await ready(each);
});

/** Ends a page as a reload does: React unmounts nothing, and the tab keeps its storage. */
async function unload(view: MountedChat, sessionId: string): Promise<void> {
  const stored = { ...sessionStorage };
  view.unmount();
  const ofSession = (): readonly string[] =>
    Object.keys(sessionStorage).filter((key) => key.includes(sessionId));
  await expect.poll(ofSession).toEqual([]);
  Object.assign(sessionStorage, stored);
}

/** Sends a message to an endpoint in KV, and reloads the page before the answer is stored. */
async function reloadDuringTurn(endpoint: ChatEndpoint, sessionId: string): Promise<MountedChat> {
  endpoint.isKv = true;
  const before = open(endpoint, sessionId);
  await ready(before);
  await before.chat().sendMessage({ text: 'Hi' });
  await ready(before);
  void before.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(before)).toHaveLength(4);
  await unload(before, sessionId);
  const page = open(endpoint, sessionId, sameAddress);
  await expect.poll(() => linesOf(page)).toEqual(['user: Hi', 'assistant: Hello.', 'user: go']);
  expect(page.chat().status).toBe('continuing');
  return page;
}

test('after a reload, a page shows the answer of an endpoint in KV when its turn ends', async () => {
  let end = (): void => {};
  const wait = new Promise<void>((resolve) => (end = resolve));
  const slow = [{ text: 'Wait. ' }, { wait, text: 'Done.' }];
  const [endpoint, id] = [new ChatEndpoint(['Hello.', slow]), crypto.randomUUID()];
  const page = await reloadDuringTurn(endpoint, id);
  end();
  await ready(page);
  const answer = 'assistant: Wait. Done.';
  expect(linesOf(page)).toEqual(['user: Hi', 'assistant: Hello.', 'user: go', answer]);
  expect(page.chat().error).toBeUndefined();
});

test('after a reload, a decision that an endpoint in KV carries out is not asked for again', async () => {
  const asks = { toolCalls: [{ name: 'send' }] };
  let end = (): void => {};
  const wait = new Promise<void>((resolve) => (end = resolve));
  const slow = [{ text: 'Wait. ' }, { wait, text: 'Done.' }];
  const [endpoint, id] = [new ChatEndpoint([asks, slow]), crypto.randomUUID()];
  endpoint.isKv = true;
  const before = open(endpoint, id);
  await ready(before);
  await before.chat().sendMessage({ text: 'go' });
  await expect.poll(() => before.chat().approvals).toHaveLength(1);
  await before.chat().approvals[0]!.approve();
  await expect.poll(() => linesOf(before)[1]).toContain('Wait.');
  await unload(before, id);
  const page = open(endpoint, id, sameAddress);
  const decided = 'assistant: send approval-responded';
  await expect.poll(() => linesOf(page)).toEqual(['user: go', decided]);
  expect(page.chat().approvals).toEqual([]);
  end();
  await ready(page);
  expect(linesOf(page)).toEqual([
    'user: go',
    'assistant: send output-available sent | Wait. Done.',
  ]);
  expect(page.chat().approvals).toEqual([]);
});

test('after a reload, stop() ends the wait for the answer of an endpoint in KV', async () => {
  const [endpoint, id] = [new ChatEndpoint(['Hello.', half]), crypto.randomUUID()];
  const page = await reloadDuringTurn(endpoint, id);
  await page.chat().stop();
  await expect.poll(() => page.chat().error?.message).toBe('The connection was lost.');
  expect(linesOf(page)).toEqual(['user: Hi', 'assistant: Hello.', 'user: go']);
  expect(Object.keys(sessionStorage).filter((key) => key.includes(id))).toEqual([]);
});

test('an answer that ends between the requests for the stream and the history is shown once', async () => {
  const [endpoint, id] = [new ChatEndpoint([half]), crypto.randomUUID()];
  const before = open(endpoint, id);
  await ready(before);
  void before.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(before)[1]).toBe('assistant: half ');
  endpoint.beforeHistory = async () => {
    await before.chat().stop();
    await expect.poll(() => endpoint.isRunning).toBe(false);
  };
  const begin = endpoint.requests.length;
  const view = open(endpoint, id, sameAddress);
  await ready(view);
  await expect.poll(() => linesOf(view)).toEqual(['user: go', 'assistant: half ']);
  const [first, second] = endpoint.requests.slice(begin);
  expect([first, second]).toEqual(['GET /api/chat/ID/stream', 'GET /api/chat/ID/messages']);
});

test('another page shows a turn that begins while it is open', async () => {
  const [endpoint, id] = [new ChatEndpoint([half]), crypto.randomUUID()];
  const [one, other] = [open(endpoint, id), open(endpoint, id, sameAddress)];
  for (const view of [one, other]) await ready(view);
  void one.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(other)).toEqual(['user: go', 'assistant: half ']);
  await expect.poll(() => other.chat().status).toBe('other-tab');
  await other.chat().stop();
  for (const view of [one, other]) await ready(view);
});

test.for([
  ['Chromium', 'network error'],
  ['Firefox', 'Error in input stream'],
  ['WebKit', undefined],
] as const)('after a lost connection, the page reads the answer on: %s', async ([, text]) => {
  const [endpoint, id] = [new ChatEndpoint([half]), crypto.randomUUID()];
  const view = open(endpoint, id);
  await ready(view);
  void view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: half ');
  endpoint.dropClients(text);
  await expect.poll(() => view.chat().status).toBe('continuing');
  await expect.poll(() => endpoint.requests.includes('GET /api/chat/ID/stream', 3)).toBe(true);
  await view.chat().stop();
  await ready(view);
  expect(linesOf(view)).toEqual(['user: go', 'assistant: half ']);
  expect(view.statuses).not.toContain('error');
});

test('a stop before the stream repeats the answer keeps the part that was shown', async () => {
  const [endpoint, id] = [new ChatEndpoint([half]), crypto.randomUUID()];
  const view = open(endpoint, id);
  await ready(view);
  void view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: half ');
  let stopped: Promise<void> | undefined;
  endpoint.beforeHistory = async () => {
    stopped ??= view.chat().stop();
    await expect.poll(() => endpoint.isRunning).toBe(false);
  };
  endpoint.dropClients();
  await expect.poll(() => stopped !== undefined).toBe(true);
  await stopped;
  await ready(view);
  expect(linesOf(view)).toEqual(['user: go', 'assistant: half ']);
});

test('messages that are sent during an answer are posted after its end, also without a component', async () => {
  let end = (): void => {};
  const wait = new Promise<void>((resolve) => (end = resolve));
  const endpoint = new ChatEndpoint([{ text: 'One.', wait }, 'Two.', 'Three.']);
  const posts: string[] = [];
  const fetch: typeof globalThis.fetch = (url, init) => {
    if (init?.method === 'POST') posts.push(endpoint.isRunning ? 'during a turn' : 'at rest');
    return endpoint.fetch(url as string, init);
  };
  const view = open({ fetch }, crypto.randomUUID());
  await ready(view);
  const sent = [view.chat().sendMessage({ text: '1' })];
  await expect.poll(() => posts).toHaveLength(1);
  for (const text of ['2', '3']) sent.push(view.chat().sendMessage({ text }));
  view.unmount();
  end();
  await Promise.all(sent);
  expect(posts).toEqual(['at rest', 'at rest', 'at rest']);
});

test('a message that is sent while the page reads an answer on waits for its end', async () => {
  const endpoint = new ChatEndpoint([half, 'Two.']);
  const view = open(endpoint, crypto.randomUUID());
  await ready(view);
  void view.chat().sendMessage({ text: '1' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: half ');
  endpoint.dropClients();
  await expect.poll(() => view.chat().status).toBe('continuing');
  void view.chat().sendMessage({ text: '2' });
  await expect.poll(() => endpoint.requests.includes('GET /api/chat/ID/stream', 3)).toBe(true);
  await view.chat().stop();
  await expect
    .poll(() => linesOf(view))
    .toEqual(['user: 1', 'assistant: half ', 'user: 2', 'assistant: Two.']);
  await ready(view);
});

const page = (status: number): Response =>
  new Response('<!doctype html><p>The page</p>', {
    status,
    headers: { 'content-type': 'text/html' },
  });

test.for([
  ['a page for each address', async () => page(200)],
  ['404 without a text', async () => new Response(null, { status: 404 })],
  ['502 with a page', async () => page(502)],
] as const)(
  'an address that answers with %s gives an error that says what to write',
  async ([, fetch]) => {
    const view = mountChat(agentEndpoint('/chat', { fetch }), { sessionId: crypto.randomUUID() });
    const taught = expect.stringMatching(/\/chat\b.* \d{3}.*agentEndpoint\(\).*"\/api\/chat"/);
    await expect.poll(() => view.chat()?.error?.message).toEqual(taught);
    view.chat().clearError();
    await expect.poll(() => view.chat().status).toBe('ready');
    await view.chat().sendMessage({ text: 'hi' });
    await expect.poll(() => view.chat().error?.message).toEqual(taught);
    view.chat().clearError();
    expect(await view.chat().sessions.export('s')).toBeUndefined();
    await expect.poll(() => view.chat().error?.message).toContain('agentEndpoint()');
  },
);

test('a refusal of the endpoint is the error of the chat, with its code and its text', async () => {
  const refusal = { error: { code: 'UNAUTHORIZED', message: 'The token is wrong.' } };
  const fetch = async (): Promise<Response> => Response.json(refusal, { status: 401 });
  const view = mountChat(agentEndpoint('/api/chat', { fetch }), { sessionId: crypto.randomUUID() });
  await expect.poll(() => view.chat()?.error).toMatchObject(refusal.error);
  await view.chat().sendMessage({ text: 'hi' });
  await expect.poll(() => view.chat().status).toBe('error');
  expect(view.chat().error).toMatchObject(refusal.error);
});

test('an address that ends with a slash is the same address', async () => {
  const endpoint = new ChatEndpoint(['Hello.']);
  const view = open(endpoint, crypto.randomUUID(), '/api/chat/', true);
  await ready(view);
  await view.chat().sendMessage({ text: 'hi' });
  await expect.poll(() => linesOf(view)).toEqual(['user: hi', 'assistant: Hello.']);
  // The page loads the code that lists conversations when it first needs it.
  await expect
    .poll(() => new Set(endpoint.requests))
    .toEqual(
      new Set([
        'GET /api/chats',
        'GET /api/chat/ID/stream',
        'GET /api/chat/ID/messages',
        'POST /api/chat',
      ]),
    );
});
