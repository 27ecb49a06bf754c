import {
  agentEndpoint,
  useAgentChat,
  type AgentChatHelpers,
  type AgentSource,
  type UIMessage,
} from '@isoloop/react';
import { createElement as h, StrictMode, type ReactNode } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { expect, onTestFinished, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import { mountChat } from '../../../web-worker/test-support/mounted-chat.ts';
import { fakeClock } from '@test/clock/fake-clock.ts';
import { HeldMessages } from '../queue/held-messages.ts';
import { heldPlace } from '../queue/held-place.ts';
import { noteUser } from '../source/noted-user.ts';
import { keptMs, openChat, openChatCount } from '../conversation/open-chats.ts';

const half = { deltas: [[{ type: 'text', id: 't', delta: 'half ' }]], hang: true } as const;

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
    const waiting = chat.queued.map(({ message }) => ({ ...message, role: 'queued' }));
    const lines = [...chat.messages, ...waiting].map(
      ({ role, parts }) => `${role}: ${JSON.stringify(parts)}`,
    );
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

test.for([
  ['with the answer on its way', [half], ''],
  ['after a page that was left without an unmount', [], 'secret'],
] as const)(
  'a refused load shows its error and nothing of the last person, %s',
  async ([, replies, left]) => {
    const [ann, bob] = [person('Ann', replies), person('Bob')];
    const sessionId = crypto.randomUUID();
    const page = pageOf(sessionId);
    if (left) sessionStorage.setItem(keyOf(sessionId), JSON.stringify(textMessage(left)));
    else {
      page.render(ann);
      await expect.poll(() => page.actions.status()).toBe('ready');
      void page.actions.send('secret');
      await expect.poll(() => page.last('Ann')).toContain('half');
      page.render(undefined);
    }
    bob.isKnown = false;
    page.render(bob);
    await expect.poll(() => page.page.error?.message).toBe('Log in.');
    expect(page.actions.status()).toBe('error');
    expect(page.shown['Bob']!.join('')).toBe('');
    expect(sessionStorage.getItem(keyOf(sessionId))).toBeNull();
  },
);

test('a message that a chat sends after a log-out is not noted for the next person, whose own note stays', async () => {
  const hang = { hang: true } as const;
  const [ann, bob] = [person('Ann', [half, hang]), person('Bob', [hang])];
  for (const { name, endpoint } of [ann, bob]) endpoint.user = name;
  const sessionId = crypto.randomUUID();
  const note = (): string | null => sessionStorage.getItem(keyOf(sessionId));
  const page = pageOf(sessionId);
  page.render(ann);
  await expect.poll(() => page.actions.status()).toBe('ready');
  void page.actions.send('first');
  await expect.poll(() => page.last('Ann')).toContain('half');
  void page.actions.send('second');
  await expect.poll(() => page.last('Ann')).toContain('queued:');
  page.render(undefined);
  page.page.person = ann;
  const posts = ({ endpoint }: Person): number =>
    endpoint.requests.filter((each) => each.startsWith('POST /api/chat')).length;
  await ann.endpoint.fetch('/api/chat/1/interrupt', { method: 'POST' });
  await expect.poll(() => posts(ann)).toBe(3);
  expect(note()).toBeNull();
  page.render(bob);
  await expect.poll(() => page.actions.status()).toBe('ready');
  void page.actions.send('of Bob');
  await expect.poll(() => posts(bob)).toBe(1);
  await ann.endpoint.fetch('/api/chat/1/interrupt', { method: 'POST' });
  await expect.poll(() => ann.endpoint.isRunning).toBe(false);
  await expect.poll(() => ann.endpoint.readers).toBe(0);
  expect(note()).toContain('of Bob');
  expect(page.shown['Bob']!.join('')).not.toMatch(/first|second/);
});

/** Returns two people whose endpoint tells a digest of their ids, and a page in which Ann waits. */
async function annWaits() {
  const [ann, bob] = [person('Ann', [half]), person('Bob', ['For Bob.'])];
  for (const { name, endpoint } of [ann, bob]) endpoint.user = name;
  const page = pageOf(crypto.randomUUID());
  page.render(ann);
  await expect.poll(() => page.actions.status()).toBe('ready');
  void page.actions.send('secret');
  await expect.poll(() => page.last('Ann')).toContain('half');
  void page.actions.send('waiting');
  await expect.poll(() => JSON.stringify(sessionStorage)).toContain('waiting');
  return { ann, bob, page };
}

async function expectNothingOfAnn({ bob, page }: Awaited<ReturnType<typeof annWaits>>) {
  await page.actions.send('hello');
  await expect.poll(() => page.last('Bob')).toContain('For Bob.');
  expect(page.shown['Bob']!.join('')).not.toMatch(/secret|waiting/);
  expect(JSON.stringify(await bob.endpoint.agent.messages())).not.toMatch(/secret|waiting/);
  expect(JSON.stringify(sessionStorage)).not.toMatch(/secret|waiting/);
}

test('a message that waits at log-out is not posted for the next person', async () => {
  const all = await annWaits();
  all.page.render(undefined);
  all.page.render(all.bob);
  await expect.poll(() => all.bob.endpoint.requests).toContain('GET /api/chat/ID/messages');
  all.ann.endpoint.dropClients();
  await expectNothingOfAnn(all);
});

test('after a log-out that loads another page, the next person of the tab gets no message that was left', async () => {
  const all = await annWaits();
  const left = { ...sessionStorage } as Readonly<Record<string, string>>;
  all.page.render(undefined);
  await expect.poll(() => JSON.stringify(sessionStorage)).not.toContain('secret');
  // A page that is left without an unmount keeps its storage.
  for (const [key, value] of Object.entries(left)) sessionStorage.setItem(key, value);
  all.page.render(all.bob);
  await expect.poll(() => all.bob.endpoint.requests).toContain('GET /api/chat/ID/messages');
  await expect.poll(() => all.page.actions.status()).toBe('ready');
  await expectNothingOfAnn(all);
});

test.for([true, false])(
  'a message that waits at log-out is neither shown to the next person nor sent for them (at once: %s)',
  async (isAtOnce) => {
    const [ann, bob] = [person('Ann', [{ hang: true }]), person('Bob', ['For Bob.'])];
    [ann.endpoint.user, bob.endpoint.user] = ['ann', 'bob'];
    const page = pageOf(crypto.randomUUID());
    page.render(ann, { key: 'ann' });
    await expect.poll(() => page.actions.status()).toBe('ready');
    void page.actions.send('first');
    await expect.poll(() => ann.endpoint.requests).toContain('POST /api/chat');
    void page.actions.send('secret');
    await expect.poll(() => page.last('Ann')).toContain('queued: [{"type":"text","text":"secret"');
    if (!isAtOnce) page.render(undefined);
    page.render(bob, { key: 'bob' });
    await expect.poll(() => page.actions.status()).toBe('ready');
    await page.actions.send('of Bob');
    await expect.poll(() => page.last('Bob')).toContain('For Bob.');
    expect(page.shown['Bob']!.join('')).not.toContain('secret');
    expect(JSON.stringify(sessionStorage)).not.toContain('secret');
    await ann.endpoint.fetch('/api/chat/1/interrupt', { method: 'POST' });
    await expect.poll(() => ann.endpoint.isRunning).toBe(false);
    await page.actions.send('of Bob, too');
    expect(bob.endpoint.requests.filter((each) => each.startsWith('POST'))).toHaveLength(2);
  },
);

test('a message that waits is not stored for a person who has logged in elsewhere', async () => {
  const { ann, bob, page } = await annWaits();
  page.page.person = bob;
  await ann.endpoint.fetch('/api/chat/1/interrupt', { method: 'POST' });
  await expect.poll(() => page.page.error?.message).toBe('Another person is logged in.');
  expect(await bob.endpoint.agent.messages()).toEqual([]);
  dispatchEvent(new Event('focus'));
  await expect.poll(() => page.last('Ann')).toBe('');
});

/** Returns the name under which the tab keeps what a page has sent in the conversation. */
function keyOf(sessionId: string): string {
  return JSON.stringify([`isoloop:${location.origin}/api/chat/${sessionId}`, null]);
}

function textMessage(text: string): UIMessage {
  return { id: 'm1', role: 'user', parts: [{ type: 'text', text }] };
}

/** Leaves a message of Ann in the tab, as a page does that is left without an unmount. */
function annHasLeft(sessionId: string): void {
  const key = keyOf(sessionId);
  const left = new HeldMessages(heldPlace('sessionStorage', key));
  left.add(textMessage('secret'));
  noteUser(key, 'ann');
}

test.for([
  ['ann', true],
  ['bob', false],
] as const)(
  'after a reload, %s gets the messages that Ann has left in the tab: %s',
  async ([user, isSent]) => {
    const { fetch, requests } = Object.assign(new ChatEndpoint(['One.']), { user });
    const sessionId = crypto.randomUUID();
    annHasLeft(sessionId);
    const view = mountChat(agentEndpoint('/api/chat', { fetch }), { sessionId });
    await expect.poll(() => JSON.stringify(sessionStorage)).not.toContain('secret');
    await expect.poll(() => view.chat().status).toBe('ready');
    expect(requests.filter((each) => each.startsWith('POST'))).toHaveLength(isSent ? 1 : 0);
  },
);

test('a message that the next person sends before the history has loaded shows none that was left', async () => {
  const bob = person('Bob', ['For Bob.']);
  bob.endpoint.user = 'bob';
  let load = (): void => {};
  const loading = new Promise<void>((resolve) => (load = resolve));
  bob.endpoint.beforeHistory = () => loading;
  const sessionId = crypto.randomUUID();
  annHasLeft(sessionId);
  const page = pageOf(sessionId);
  page.render(bob);
  await expect.poll(() => bob.endpoint.requests).toContain('GET /api/chat/ID/messages');
  void page.actions.send('of Bob');
  await expect.poll(() => page.last('Bob')).toContain('of Bob');
  load();
  await expect.poll(() => JSON.stringify(sessionStorage)).not.toContain('secret');
  await expect.poll(() => page.actions.status()).toBe('ready');
  expect(page.shown['Bob']!.join('')).not.toContain('secret');
});

test('a new conversation learns from its first answer for whom the next message is', async () => {
  const endpoint = new ChatEndpoint(['One.', 'Two.']);
  endpoint.user = 'ann';
  const digests: unknown[] = [];
  const fetch: typeof globalThis.fetch = (url, init) => {
    if (init?.method === 'POST')
      digests.push((JSON.parse(String(init.body)) as { readonly userDigest?: string }).userDigest);
    return endpoint.fetch(url, init);
  };
  const sessionId = crypto.randomUUID();
  const view = mountChat(agentEndpoint('/api/chat', { fetch }), { sessionId });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  view.chat().sessions.open();
  await expect.poll(() => view.chat().id).not.toBe(sessionId);
  await view.chat().sendMessage({ text: 'a' });
  await view.chat().sendMessage({ text: 'b' });
  expect(digests).toEqual([undefined, 'ann']);
});

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
  const options = { sessionId: 'never-shown', isNew: false, messages: [], user: undefined };
  const open = () => openChat(source, options);
  const before = openChatCount();
  const entry = open();
  await clock.advance(keptMs - 1);
  expect(open()).toBe(entry);
  await clock.advance(1);
  expect(openChatCount()).toBe(before);
});
