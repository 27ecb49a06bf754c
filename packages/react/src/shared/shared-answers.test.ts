import type { UiChunk, UIMessage } from '@isoloop/core/stream';
import { agentEndpoint } from '@isoloop/react';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import type { AnswerPost } from './answer-channel.ts';
import type { AnswerStart } from './followed-answer.ts';
import {
  linesOf,
  mountChat,
  type MountedChat,
} from '../../../web-worker/test-support/mounted-chat.ts';

const ready = async (view: MountedChat): Promise<void> => {
  await expect.poll(() => view.chat()?.status).toBe('ready');
};

const held = { deltas: [[{ type: 'text', id: 't', delta: 'half ' }]], hang: true } as const;

interface OpenTabs {
  readonly count: number;
  readonly sessionId?: string;
  readonly fetch?: typeof fetch;
  readonly listSessions?: boolean;
}

/** Shows a conversation in tabs. Another spelling of the address is another tab's chat. */
async function openTabs(
  endpoint: ChatEndpoint,
  {
    count,
    sessionId = crypto.randomUUID(),
    fetch = endpoint.fetch,
    listSessions = false,
  }: OpenTabs,
): Promise<readonly MountedChat[]> {
  const views: MountedChat[] = [];
  while (views.length < count) {
    openedTabs += 1;
    const source = agentEndpoint(`/api${'/.'.repeat(openedTabs)}/chat`, { fetch });
    const view = mountChat(source, { sessionId, listSessions });
    await ready(view);
    views.push(view);
  }
  return views;
}
let openedTabs = 0;

async function allShow(views: readonly MountedChat[], lines: readonly string[]): Promise<void> {
  for (const view of views) await expect.poll(() => linesOf(view)).toEqual(lines);
}

function endpointOf(user: string, replies: ConstructorParameters<typeof ChatEndpoint>[0]) {
  const endpoint = new ChatEndpoint(replies);
  endpoint.user = user;
  return endpoint;
}

/** Hides the page until the test ends, or until the returned function shows it. */
function hidePage(): () => void {
  const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
  const state = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
  const show = (): void => {
    hidden.mockRestore();
    state.mockRestore();
    document.dispatchEvent(new Event('visibilitychange'));
  };
  document.dispatchEvent(new Event('visibilitychange'));
  onTestFinished(show);
  return show;
}

test('with five tabs, the rate limit of the README does not refuse the third message', async () => {
  const endpoint = endpointOf('ann', ['One.', 'Two.', 'Three.']);
  const { requests } = endpoint;
  const fetch: typeof endpoint.fetch = async (...request) =>
    requests.length < 60
      ? endpoint.fetch(...request)
      : Response.json({ error: { code: 'RATE_LIMITED', message: '' } }, { status: 429 });
  const views = await openTabs(endpoint, { count: 5, fetch, listSessions: true });
  const opening = requests.length;
  const lines: string[] = [];
  for (const [index, answer] of ['One.', 'Two.', 'Three.'].entries()) {
    void views[index]!.chat().sendMessage({ text: `Question ${index}` });
    lines.push(`user: Question ${index}`, `assistant: ${answer}`);
    await allShow(views, lines);
    for (const view of views) await ready(view);
  }
  const asked = requests.slice(opening);
  expect(asked.filter((request) => request !== 'GET /api/chats')).toEqual(
    Array.from({ length: 3 }, () => 'POST /api/chat'),
  );
  for (const view of views) expect(view.chat().error).toBeUndefined();
});

test('tabs show approvals, decisions, edits and new answers of each other without requests', async () => {
  const asks = { toolCalls: [{ name: 'send', input: { to: 'Bob' } }] };
  const endpoint = endpointOf('ann', [asks, 'Done.', 'Again.', 'Edited.']);
  const views = await openTabs(endpoint, { count: 3 });
  const [one, two, three] = views as [MountedChat, MountedChat, MountedChat];
  const opening = endpoint.requests.length;
  void one.chat().sendMessage({ text: 'go' });
  for (const view of views) await expect.poll(() => view.chat().approvals).toHaveLength(1);
  void two.chat().approvals[0]!.approve();
  const decided = ['user: go', 'assistant: send output-available sent | Done.'];
  await allShow(views, decided);
  for (const view of views) await ready(view);
  void three.chat().sendMessage({ text: 'more' });
  await allShow(views, [...decided, 'user: more', 'assistant: Again.']);
  for (const view of views) await ready(view);
  const { id } = one.chat().messages[2]!;
  void one.chat().sendMessage({ text: 'less', messageId: id });
  await allShow(views, [...decided, 'user: less', 'assistant: Edited.']);
  for (const view of views) await ready(view);
  expect(new Set(endpoint.requests.slice(opening))).toEqual(new Set(['POST /api/chat']));
});

test('a tab that opens during an answer shows it from its start, and the endpoint has one reader', async () => {
  const endpoint = endpointOf('ann', [held]);
  const sessionId = crypto.randomUUID();
  const [sender] = await openTabs(endpoint, { count: 1, sessionId });
  void sender!.chat().sendMessage({ text: 'go' });
  await allShow([sender!], ['user: go', 'assistant: half ']);
  openedTabs += 1;
  const { fetch } = endpoint;
  const source = agentEndpoint(`/api${'/.'.repeat(openedTabs)}/chat`, { fetch });
  const late = mountChat(source, { sessionId });
  await allShow([late], ['user: go', 'assistant: half ']);
  await expect.poll(() => endpoint.readers).toBe(1);
  await late.chat().stop();
  for (const view of [sender!, late]) await ready(view);
  expect(endpoint.isRunning).toBe(false);
});

test('after a lost connection, one tab reads the answer on for all of them', async () => {
  let [goOn, end] = [(): void => {}, (): void => {}];
  const dropped = new Promise<void>((resolve) => (goOn = resolve));
  const allFollow = new Promise<void>((resolve) => (end = resolve));
  const endpoint = endpointOf('ann', [
    [{ text: 'Wait. ' }, { wait: dropped, text: 'More. ' }, { wait: allFollow, text: 'Done.' }],
  ]);
  const views = await openTabs(endpoint, { count: 4 });
  void views[0]!.chat().sendMessage({ text: 'go' });
  await allShow(views, ['user: go', 'assistant: Wait. ']);
  endpoint.dropClients('network error');
  await expect.poll(() => endpoint.readers).toBe(1);
  goOn();
  // A tab that gets the lock of a reader before its answer may ask once more.
  await allShow(views, ['user: go', 'assistant: Wait. More. ']);
  end();
  await allShow(views, ['user: go', 'assistant: Wait. More. Done.']);
  for (const view of views) await ready(view);
  expect(endpoint.requests.filter((request) => request.endsWith('/stream'))).toHaveLength(4 + 1);
});

test('when the chat that reads is unmounted, another tab reads on', async () => {
  let end = (): void => {};
  const wait = new Promise<void>((resolve) => (end = resolve));
  const endpoint = endpointOf('ann', [[{ text: 'Wait. ' }, { wait, text: 'Done.' }]]);
  const [sender, ...others] = await openTabs(endpoint, { count: 3 });
  void sender!.chat().sendMessage({ text: 'go' });
  await allShow(others, ['user: go', 'assistant: Wait. ']);
  sender!.unmount();
  await expect.poll(() => endpoint.requests.at(-1)).toMatch(/messages|stream/);
  await expect.poll(() => endpoint.readers).toBe(1);
  end();
  await allShow(others, ['user: go', 'assistant: Wait. Done.']);
  for (const view of others) await ready(view);
});

test('a tab of another user gets nothing of an answer, although its session has the same id', async () => {
  const ann = endpointOf('ann', ['The secret.']);
  const bob = endpointOf('bob', []);
  const sessionId = crypto.randomUUID();
  const [annTab, otherTab] = await openTabs(ann, { count: 2, sessionId });
  const [bobTab] = await openTabs(bob, { count: 1, sessionId });
  const heard: unknown[] = [];
  const base = `isoloop:${location.origin}/api/chat/${sessionId}`;
  for (const name of [base, `${base}:bob`]) {
    const channel = new BroadcastChannel(name);
    channel.addEventListener('message', ({ data }) => heard.push(data));
    onTestFinished(() => channel.close());
  }
  await annTab!.chat().sendMessage({ text: 'Tell me' });
  await allShow([annTab!, otherTab!], ['user: Tell me', 'assistant: The secret.']);
  await expect.poll(() => heard).not.toEqual([]);
  expect(JSON.stringify(heard)).not.toMatch(/secret|Tell me/);
  await ready(bobTab!);
  expect(linesOf(bobTab!)).toEqual([]);
});

test('a tab whose user changes, as with a cookie, leaves the tabs of the earlier user', async () => {
  const endpoint = endpointOf('ann', ['The secret.']);
  const [annTab, changed] = await openTabs(endpoint, { count: 2 });
  const bob = endpointOf('bob', []);
  endpoint.user = 'bob';
  vi.spyOn(endpoint.agent, 'messages').mockResolvedValue([]);
  await changed!.chat().resumeStream();
  endpoint.user = 'ann';
  vi.restoreAllMocks();
  const earlier = endpoint.requests.length;
  await annTab!.chat().sendMessage({ text: 'Tell me' });
  // The tab looks for itself, with its own login.
  await expect.poll(() => endpoint.requests.slice(earlier)).toContain('GET /api/chat/ID/stream');
  expect(bob.requests).toEqual([]);
});

test.for([
  ['a browser without Web Locks', 'ann', () => vi.stubGlobal('navigator', withoutLocks())],
  ['an endpoint that does not name the user', undefined, () => {}],
] as const)('with %s, each visible tab reads for itself', async ([, user, prepare]) => {
  prepare();
  const endpoint = new ChatEndpoint(['Hello.', 'Bye.']);
  endpoint.user = user;
  const views = await openTabs(endpoint, { count: 2 });
  const opening = endpoint.requests.length;
  await views[0]!.chat().sendMessage({ text: 'Hi' });
  await allShow(views, ['user: Hi', 'assistant: Hello.']);
  expect(endpoint.requests.slice(opening)).toContain('GET /api/chat/ID/messages');
  await views[1]!.chat().sendMessage({ text: 'So long' });
  const lines = ['user: Hi', 'assistant: Hello.', 'user: So long', 'assistant: Bye.'];
  await allShow(views, lines);
});

/** Returns the browser's `navigator` as an old browser or an insecure page has it. */
function withoutLocks(): object {
  return new Proxy(navigator, {
    get: (target, name) =>
      name === 'locks' ? undefined : (Reflect.get(target, name, target) as unknown),
  });
}

test('a hidden page asks for nothing when another tab has news, and looks when it is visible', async () => {
  const endpoint = new ChatEndpoint(['Hello.']);
  const sessionId = crypto.randomUUID();
  const [view] = await openTabs(endpoint, { count: 1, sessionId });
  const show = hidePage();
  const earlier = endpoint.requests.length;
  await endpoint.agent.call('Hi');
  const others = new BroadcastChannel(`isoloop:${location.origin}/api/chat/${sessionId}`);
  const heard = new Promise((resolve) => {
    const listener = new BroadcastChannel(others.name);
    listener.addEventListener('message', resolve);
    onTestFinished(() => listener.close());
  });
  others.postMessage('changed');
  onTestFinished(() => others.close());
  await heard;
  expect(endpoint.requests.slice(earlier)).toEqual([]);
  show();
  await allShow([view!], ['user: Hi', 'assistant: Hello.']);
});

test('a hidden page shows the answer of another tab, and reads a lost one when it is visible', async () => {
  let end = (): void => {};
  const wait = new Promise<void>((resolve) => (end = resolve));
  const endpoint = endpointOf('ann', [[{ text: 'Wait. ' }, { wait, text: 'Done.' }]]);
  const [sender, other] = await openTabs(endpoint, { count: 2 });
  void sender!.chat().sendMessage({ text: 'go' });
  await allShow([other!], ['user: go', 'assistant: Wait. ']);
  const show = hidePage();
  const earlier = endpoint.requests.length;
  sender!.unmount();
  await expect.poll(() => endpoint.readers).toBe(0);
  expect(endpoint.requests.slice(earlier)).toEqual([]);
  show();
  end();
  await allShow([other!], ['user: go', 'assistant: Wait. Done.']);
});

/**
 * Opens the channel of the user's tabs, as another tab does. Returns a function that posts to it.
 */
function anotherTab(sessionId: string): (post: AnswerPost) => void {
  const name = `isoloop:${location.origin}/api/chat/${sessionId}:ann`;
  const channel = new BroadcastChannel(name);
  onTestFinished(() => channel.close());
  return (post) => channel.postMessage(post);
}

const words = (messageId: string, text: string): readonly UiChunk[] => [
  { type: 'start', messageId },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: text },
  { type: 'text-end', id: 't' },
  { type: 'finish' },
];

/** A question of another tab, which had these messages when it asked. */
function startAfter(id: string, text: string, earlierIds: readonly string[]): AnswerStart {
  const question: UIMessage = { id, role: 'user', parts: [{ type: 'text', text }] };
  return { id: `answer to ${id}`, messageIds: [...earlierIds, id], question };
}

/** Shows a conversation in a tab, and returns its history after two questions more. */
async function openEarlier() {
  const endpoint = endpointOf('ann', ['One.', 'Two.', 'Three.']);
  const sessionId = crypto.randomUUID();
  const [view] = await openTabs(endpoint, { count: 1, sessionId });
  const post = anotherTab(sessionId);
  await view!.chat().sendMessage({ text: 'first' });
  await allShow([view!], ['user: first', 'assistant: One.']);
  const earlierIds = view!.chat().messages.map(({ id }) => id);
  await endpoint.agent.call('second');
  await endpoint.agent.call('third');
  const stored = (await endpoint.agent.messages()).slice(2).map(({ id }) => id);
  const [second, two, third, three] = stored as [string, string, string, string];
  return { view: view!, post, earlierIds, second, two, third, three };
}

const history = [
  'user: first',
  'assistant: One.',
  'user: second',
  'assistant: Two.',
  'user: third',
  'assistant: Three.',
];

test.for([
  ['in the order of the endpoint', ['second', 'third']],
  ['in the other order', ['third', 'second']],
] as const)(
  'answers to two tabs that asked at once come %s, and are all shown',
  async ([, order]) => {
    const { view, post, earlierIds, second, two, third, three } = await openEarlier();
    const texts = { second: 'Two.', third: 'Three.' };
    const ids = { second: [second, two], third: [third, three] } as const;
    for (const text of order) {
      const [questionId, answerId] = ids[text];
      const start = startAfter(questionId, text, earlierIds);
      post({ type: 'answer', start, chunks: words(answerId, texts[text]) });
      post({ type: 'end', id: start.id, isLost: false });
      await expect.poll(() => linesOf(view)).toContain(`assistant: ${texts[text]}`);
    }
    await allShow([view], history);
    await ready(view);
  },
);

test('an answer that another one replaced before a tab had read it is shown', async () => {
  const { view, post, earlierIds, second, two, third, three } = await openEarlier();
  const start = startAfter(second, 'second', earlierIds);
  const next = startAfter(third, 'third', earlierIds);
  post({ type: 'answer', start, chunks: words(two, 'Two.').slice(0, 2) });
  post({ type: 'answer', start: next, chunks: words(three, 'Three.') });
  post({ type: 'end', id: next.id, isLost: false });
  await expect.poll(() => linesOf(view)).toEqual(history);
  await ready(view);
});

test('three tabs that ask at the same time show the history of the endpoint', async () => {
  const endpoint = endpointOf('ann', ['One.', 'Two.', 'Three.']);
  const views = await openTabs(endpoint, { count: 4 });
  await Promise.all(
    views.slice(1).map((view, index) => view.chat().sendMessage({ text: `Question ${index}` })),
  );
  const stored = await endpoint.agent.messages();
  expect(stored).toHaveLength(6);
  for (const view of views)
    await expect
      .poll(() => view.chat().messages.map(({ id }) => id))
      .toEqual(stored.map(({ id }) => id));
  for (const view of views) await ready(view);
});
