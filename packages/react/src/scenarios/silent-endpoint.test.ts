import type { ScriptedReply } from '@isoloop/core/testing';
import { agentEndpoint, type AgentChatHelpers, type AgentEndpointOptions } from '@isoloop/react';
import { expect, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import {
  linesOf,
  mountChat,
  type MountedChat,
} from '../../../web-worker/test-support/mounted-chat.ts';

interface Opened {
  readonly endpoint: ChatEndpoint;
  readonly view: MountedChat;
  /** Ends the reply of the model. */
  readonly goOn: () => void;
}

type Route = 'POST' | 'messages' | 'PATCH' | 'DELETE';

/**
 * Opens a chat. `unanswered`: routes whose first request reaches the endpoint, but whose answer is
 * lost.
 */
function open(
  options: AgentEndpointOptions = {},
  unanswered: readonly Route[] = [],
  replyHeaders: Readonly<Record<string, string>> = {},
): Opened {
  let goOn = (): void => {};
  const wait = new Promise<void>((resolve) => (goOn = resolve));
  const reply: ScriptedReply = [{ text: 'half ' }, { wait, text: 'whole.' }];
  const endpoint = new ChatEndpoint([reply, 'Next.']);
  const lost = new Set<string>(unanswered);
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const { pathname } = new URL(String(url), location.href);
    const end = pathname.split('/').at(-1)!;
    const answer = await endpoint.fetch(url as string, init);
    const route = end === 'chat' || !['messages', 'stream', 'chats'].includes(end);
    const name = route ? (init?.method ?? 'GET') : end;
    if (lost.delete(name)) return new Promise(() => {});
    for (const [header, value] of Object.entries(replyHeaders)) answer.headers.set(header, value);
    return answer;
  };
  const source = agentEndpoint('/api/chat', { fetch, ...options });
  const sessionId = crypto.randomUUID();
  const view = mountChat(source, { sessionId, listSessions: true });
  return { endpoint, view, goOn };
}

async function begun(opened: Opened): Promise<void> {
  const { view } = opened;
  await expect.poll(() => view.chat()?.status).toBe('ready');
  void view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: half ');
}

/** Ends the reply, and returns what the page then shows. */
async function restOf({ view, goOn }: Opened): Promise<readonly string[]> {
  await expect.poll(() => view.chat().status).toBe('continuing');
  goOn();
  await expect.poll(() => linesOf(view)).toEqual(whole);
  await expect.poll(() => view.chat().status).toBe('ready');
  expect(view.chat().error).toBeUndefined();
  return linesOf(view);
}

const whole = ['user: go', 'assistant: half whole.'];

test.each([
  ['the option `silenceMs`', { silenceMs: 40 }, {}],
  ['what the endpoint says', {}, { 'x-isoloop-keep-alive': '16' }],
] as const)('a page reads on from a stream that is silent for longer than %s', async (...each) => {
  const opened = open(each[1], [], each[2]);
  await begun(opened);
  opened.endpoint.forgetClients();
  expect(await restOf(opened)).toEqual(whole);
});

test('a browser that is online again leaves a silent stream at once', async () => {
  const opened = open();
  await begun(opened);
  opened.endpoint.forgetClients();
  dispatchEvent(new Event('online'));
  expect(await restOf(opened)).toEqual(whole);
});

test('a page that the browser restores leaves a silent stream at once', async () => {
  const opened = open();
  await begun(opened);
  opened.endpoint.forgetClients();
  dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
  expect(await restOf(opened)).toEqual(whole);
});

test('a page reads the answer to a message whose request gets no reply', async () => {
  const opened = open({ timeoutMs: 60 }, ['POST']);
  const { view } = opened;
  await expect.poll(() => view.chat()?.status).toBe('ready');
  void view.chat().sendMessage({ text: 'go' });
  expect(await restOf(opened)).toEqual(whole);
});

test('a history without a reply is an error, and retry() loads it', async () => {
  const { view } = open({ timeoutMs: 40 }, ['messages']);
  await expect.poll(() => view.chat()?.error).toMatchObject({ code: 'ENDPOINT_TIMEOUT' });
  expect(view.chat().status).toBe('error');
  await view.chat().retry();
  await expect.poll(() => view.chat().status).toBe('ready');
});

test('a history without a reply is loaded again when the browser is online again', async () => {
  const { view } = open({ timeoutMs: 40 }, ['messages']);
  await expect.poll(() => view.chat()?.status).toBe('error');
  dispatchEvent(new Event('online'));
  await expect.poll(() => view.chat().status).toBe('ready');
  expect(view.chat().error).toBeUndefined();
});

const actions: Readonly<Record<string, (chat: AgentChatHelpers) => unknown>> = {
  PATCH: (chat) => chat.sessions.rename('c', 'Two'),
  DELETE: (chat) => chat.sessions.delete('c'),
};

test.each(['PATCH', 'DELETE'] as const)('a %s without a reply is an error', async (route) => {
  const { view } = open({ timeoutMs: 40 }, [route]);
  await expect.poll(() => view.chat()?.status).toBe('ready');
  void actions[route]!(view.chat());
  await expect.poll(() => view.chat().error).toMatchObject({ code: 'ENDPOINT_TIMEOUT' });
});

test('`headers`, `body` and `credentials` may be asynchronous, and are called for each request', async () => {
  const inner = new ChatEndpoint(['Hello.']);
  const seen: (readonly [route: string, token: string | null, mode: string | undefined])[] = [];
  let calls = 0;
  const bodies: string[] = [];
  const fetch: typeof globalThis.fetch = (url, init) => {
    const token = new Headers(init?.headers).get('authorization');
    seen.push([String(url).split('/').at(-1)!, token, init?.credentials]);
    if (String(url).endsWith('/api/chat')) bodies.push(String(init?.body));
    return inner.fetch(url as string, init);
  };
  const source = agentEndpoint('/api/chat', {
    fetch,
    headers: async () => new Headers({ authorization: `Bearer ${(calls += 1)}` }),
    body: async () => ({ model: 'small' }),
    credentials: async () => 'include' as const,
  });
  const view = mountChat(source, { sessionId: crypto.randomUUID() });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  await view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: Hello.');
  expect(seen.map(([, token]) => token)).toEqual(seen.map((_, index) => `Bearer ${index + 1}`));
  expect(new Set(seen.map(([, , mode]) => mode))).toEqual(new Set(['include']));
  expect(JSON.parse(bodies[0]!)).toMatchObject({ model: 'small' });
});

test.each([
  ['that fails', async () => Promise.reject(new Error('No session.')), 'UNAUTHORIZED'],
  ['that throws', () => JSON.parse('{'), 'UNAUTHORIZED'],
  ['that never ends', () => new Promise(() => {}), 'ENDPOINT_TIMEOUT'],
  ['with a value that HTTP cannot send', async () => ({ a: '\n日' }), 'CONFIGURATION'],
] as const)('a function `headers` %s is an error with a code', async (_name, headers, code) => {
  const { view } = open({ headers: headers as () => Promise<Headers>, timeoutMs: 60 });
  await expect.poll(() => view.chat()?.error).toMatchObject({ code });
  expect(view.chat().status).toBe('error');
});
