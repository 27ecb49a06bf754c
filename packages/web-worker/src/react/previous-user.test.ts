import {
  agentEndpoint,
  useAgentChat,
  type AgentChatHelpers,
  type AgentSource,
} from '@isoloop/web-worker/react';
import { createElement as h, StrictMode, type ReactNode } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { expect, onTestFinished, test } from 'vitest';
import { ChatEndpoint } from '../../test-support/chat-endpoint.ts';
import { fakeClock } from '../../../../test/clock/fake-clock.ts';
import { keptMs, openChat, openChatCount } from './open-chats.ts';

interface Person {
  readonly name: string;
  readonly endpoint: ChatEndpoint;
  /** Whether the endpoint takes this person's session. */
  isKnown: boolean;
}

function person(name: string, replies: ConstructorParameters<typeof ChatEndpoint>[0] = []): Person {
  return { name, endpoint: new ChatEndpoint(replies), isKnown: true };
}

/** A page of one browser. The endpoint knows the person by a cookie, which the page cannot see. */
function pageOf(sessionId: string) {
  const page: { person: Person | undefined; error: Error | undefined } = {
    person: undefined,
    error: undefined,
  };
  /** What each person's components have rendered, in order. */
  const shown: Record<string, string[]> = {};
  const fetch: typeof globalThis.fetch = async (url, init) =>
    page.person?.isKnown
      ? page.person.endpoint.fetch(url, init)
      : Response.json({ error: { code: 'UNAUTHORIZED', message: 'Log in.' } }, { status: 401 });
  interface Props {
    readonly source: AgentSource;
    readonly name: string;
    readonly user?: string | undefined;
  }
  function Chat({ source, name, user }: Props): ReactNode {
    const chat = useAgentChat(source, { sessionId, user });
    note(chat, name);
    return null;
  }
  const note = (chat: AgentChatHelpers, name: string): void => {
    page.error = chat.error;
    const lines = chat.messages.map(({ role, parts }) => `${role}: ${JSON.stringify(parts)}`);
    (shown[name] ??= []).push(lines.join('\n'));
    actions.send = (text) => chat.sendMessage({ text });
    actions.status = () => chat.status;
  };
  const actions: { send: (text: string) => Promise<void>; status: () => string } = {
    send: async () => {},
    status: () => '',
  };
  const root = createRoot(document.createElement('div'));
  onTestFinished(() => root.unmount());
  const source = agentEndpoint('/api/chat', { fetch });
  const render = (
    next: Person | undefined,
    { key = '', headers = {}, user = undefined as string | undefined } = {},
  ) => {
    page.person = next;
    const own = Object.keys(headers).length
      ? agentEndpoint('/api/chat', { fetch, headers })
      : source;
    const chat = next && h(Chat, { key, name: next.name, source: own, user });
    flushSync(() => root.render(h(StrictMode, null, chat)));
  };
  return { page, shown, actions, render, last: (name: string) => shown[name]?.at(-1) ?? '' };
}

async function annHasAsked(
  page: ReturnType<typeof pageOf>,
  ann: Person,
  options = {},
): Promise<void> {
  page.render(ann, options);
  await expect.poll(() => page.actions.status()).toBe('ready');
  await page.actions.send('secret');
  await expect.poll(() => page.last('Ann')).toContain('For Ann.');
}

test('after a log-out, the next person never sees the messages, also if the endpoint refuses the load', async () => {
  const [ann, bob] = [person('Ann', ['For Ann.']), person('Bob')];
  const page = pageOf(crypto.randomUUID());
  await annHasAsked(page, ann);
  page.render(undefined);
  bob.isKnown = false;
  page.render(bob);
  await expect.poll(() => page.page.error?.message).toBe('Log in.');
  expect(page.shown['Bob']!.join('')).toBe('');
});

test('if one person replaces another in one render, no render has the messages of the first', async () => {
  const [ann, bob] = [person('Ann', ['For Ann.']), person('Bob')];
  const page = pageOf(crypto.randomUUID());
  await annHasAsked(page, ann, { key: 'ann' });
  page.render(bob, { key: 'bob' });
  await expect.poll(() => bob.endpoint.requests).toContain('GET /api/chat/ID/messages');
  await expect.poll(() => page.actions.status()).toBe('ready');
  expect(page.shown['Bob']!.join('')).toBe('');
});

test.for([
  ['user', { user: 'ann' }, { user: 'bob' }],
  ['authorization', { headers: { authorization: 'a' } }, { headers: { Authorization: 'b' } }],
] as const)(
  'a component that stays and gets another %s shows nothing of the first',
  async ([, one, two]) => {
    const [ann, bob] = [person('Ann', ['For Ann.']), person('Bob')];
    const page = pageOf(crypto.randomUUID());
    await annHasAsked(page, ann, one);
    page.render(bob, two);
    await expect.poll(() => bob.endpoint.requests).toContain('GET /api/chat/ID/messages');
    await expect.poll(() => page.actions.status()).toBe('ready');
    expect(page.shown['Bob']!.join('')).toBe('');
  },
);

test('a refused check removes the messages that are shown', async () => {
  const ann = person('Ann', ['For Ann.']);
  const page = pageOf(crypto.randomUUID());
  await annHasAsked(page, ann);
  ann.isKnown = false;
  dispatchEvent(new Event('focus'));
  await expect.poll(() => page.last('Ann')).toBe('');
  expect(page.page.error?.message).toBe('Log in.');
});

test('a refused check removes the messages of a chat that shows an error', async () => {
  const ann = person('Ann', ['For Ann.']);
  const page = pageOf(crypto.randomUUID());
  await annHasAsked(page, ann);
  ann.endpoint.bodyLimit = 1;
  await page.actions.send('too large');
  await expect.poll(() => page.actions.status()).toBe('error');
  dispatchEvent(new Event('focus'));
  await expect.poll(() => ann.endpoint.requests.at(-1)).toBe('GET /api/chat/ID/messages');
  expect(page.last('Ann')).toContain('too large');
  ann.isKnown = false;
  dispatchEvent(new Event('focus'));
  await expect.poll(() => page.last('Ann')).toBe('');
  expect(page.page.error?.message).toBe('Log in.');
});

test.for([true, false])(
  'a message whose answer is on its way at log-out is not shown to the next person (at once: %s)',
  async (isAtOnce) => {
    const half = { deltas: [[{ type: 'text', id: 't', delta: 'half ' }]], hang: true } as const;
    const [ann, bob] = [person('Ann', [half]), person('Bob')];
    const page = pageOf(crypto.randomUUID());
    page.render(ann, { key: 'ann' });
    await expect.poll(() => page.actions.status()).toBe('ready');
    void page.actions.send('secret');
    await expect.poll(() => page.last('Ann')).toContain('half');
    expect(JSON.stringify(sessionStorage)).toContain('secret');
    if (!isAtOnce) page.render(undefined);
    page.render(bob, { key: 'bob' });
    await expect.poll(() => page.actions.status()).toBe('ready');
    expect(page.shown['Bob']!.join('')).toBe('');
    expect(JSON.stringify(sessionStorage)).not.toContain('secret');
  },
);

test('150 chats that were opened one after the other leave none behind', async () => {
  const endpoint = new ChatEndpoint([]);
  const source = agentEndpoint('/api/chat', { fetch: endpoint.fetch });
  const root = createRoot(document.createElement('div'));
  onTestFinished(() => root.unmount());
  const counts: number[] = [];
  function Chat({ sessionId }: { readonly sessionId: string }): ReactNode {
    useAgentChat(source, { sessionId });
    return null;
  }
  const before = openChatCount();
  for (let index = 0; index < 150; index++) {
    root.render(h(Chat, { sessionId: `opened-${index}` }));
    await new Promise((resolve) => setTimeout(resolve));
    counts.push(openChatCount() - before);
  }
  expect(Math.max(...counts)).toBeLessThan(3);
  root.unmount();
  await expect.poll(() => openChatCount() - before).toBe(0);
});

test('a chat that no component has shown is dropped after the stated time', async () => {
  const clock = fakeClock();
  const source = agentEndpoint('/api/chat', { fetch: new ChatEndpoint([]).fetch });
  const options = { sessionId: 'never-shown' };
  const open = () => openChat(source, options, { isNew: false, messages: [], user: undefined });
  const before = openChatCount();
  const entry = open();
  await clock.advance(keptMs - 1);
  expect(open()).toBe(entry);
  await clock.advance(1);
  expect(openChatCount()).toBe(before);
});
