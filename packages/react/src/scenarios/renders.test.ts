import {
  agentEndpoint,
  useAgentChat,
  type AgentSource,
  type UIMessage,
  type UIMessagePart,
  type UseAgentChatOptions,
} from '@isoloop/react';
import {
  createElement as h,
  memo,
  startTransition,
  StrictMode,
  useEffect,
  useState,
  type ReactNode,
} from 'react';
import { createRoot, hydrateRoot } from 'react-dom/client';
import { renderToString } from 'react-dom/server.browser';
import { expect, onTestFinished, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import { beginning, delta, HeldSource } from '../../../web-worker/test-support/held-source.ts';
import { mountChat } from '../../../web-worker/test-support/mounted-chat.ts';
import { fakeClock } from '@test/clock/fake-clock.ts';

interface Counts {
  page: number;
  /** Renders of each part, by its place. */
  readonly parts: Record<string, number>;
}

/** A page whose parts and messages are memoized. */
function pageOf(source: AgentSource, options: UseAgentChatOptions) {
  const counts: Counts = { page: 0, parts: {} };
  const shown: { chat?: ReturnType<typeof useAgentChat> } = {};
  const Part = memo(({ part, place }: { readonly part: UIMessagePart; readonly place: string }) => {
    counts.parts[place] = (counts.parts[place] ?? 0) + 1;
    return h('p', null, part.type === 'text' ? part.text : `${part.type} ${JSON.stringify(part)}`);
  });
  const note = (chat: ReturnType<typeof useAgentChat>): void => {
    counts.page += 1;
    shown.chat = chat;
  };
  function Page(): ReactNode {
    const chat = useAgentChat(source, options);
    note(chat);
    return [
      h('output', { key: 'status' }, chat.status),
      ...chat.messages.flatMap(({ id, parts }) =>
        parts.map((part, index) =>
          h(Part, { key: `${id} ${index}`, part, place: `${id} ${index}` }),
        ),
      ),
    ];
  }
  return { Page, counts, chat: () => shown.chat! };
}

type Wait = (isDone: () => boolean) => Promise<unknown>;
const inRealTime: Wait = async (isDone) => {
  await expect.poll(isDone).toBe(true);
};

async function mounted(options: Partial<UseAgentChatOptions> = {}, wait: Wait = inRealTime) {
  const source = new HeldSource();
  const page = pageOf(source, { sessionId: crypto.randomUUID(), ...options });
  const container = document.createElement('div');
  const root = createRoot(container);
  root.render(h(page.Page));
  onTestFinished(() => root.unmount());
  await wait(() => page.chat()?.status === 'ready');
  const send = async (text: string): Promise<void> => {
    const count = source.requests.length;
    void page.chat().sendMessage({ text });
    await wait(() => source.requests.length === count + 1);
    await wait(() => page.chat().status === 'submitted');
  };
  return { ...page, source, container, send };
}

test('a page renders once for each batch of an answer, and only the parts that changed', async () => {
  const { source, counts, container, send } = await mounted();
  await send('go');
  const before = counts.page;
  source.batch(...beginning('a'), delta('one '));
  await expect.poll(() => container.textContent).toContain('one ');
  expect(counts.page).toBe(before + 1);
  const user = Object.keys(counts.parts).find((place) => !place.startsWith('a '))!;
  for (let batch = 1; batch <= 20; batch += 1) {
    source.batch(...Array.from({ length: 50 }, () => delta('x')), delta(`${batch}. `));
    await expect.poll(() => container.textContent).toContain(`${batch}. `);
  }
  expect(counts.page).toBe(before + 21);
  expect(counts.parts).toEqual({ [user]: 1, 'a 0': 1, 'a 1': 21 });
  source.batch(
    { type: 'text-end', id: 't' },
    { type: 'tool-input-available', toolCallId: 'c', toolName: 'find', input: {} },
    { type: 'finish-step' },
    { type: 'start-step' },
    { type: 'text-start', id: 'u' },
    delta('more', 'u'),
  );
  await expect.poll(() => container.textContent).toContain('more');
  source.batch(delta('!', 'u'));
  await expect.poll(() => container.textContent).toContain('more!');
  expect(counts.page).toBe(before + 23);
  expect(counts.parts).toMatchObject({ [user]: 1, 'a 1': 22, 'a 2': 1, 'a 4': 2 });
});

test('events of the agent do not render a page that does not show them', async () => {
  const { source, counts, container, send } = await mounted();
  await send('go');
  source.batch(...beginning('a'), delta('one'));
  await expect.poll(() => container.textContent).toContain('one');
  const before = counts.page;
  const event = {
    type: 'pre-reasoning',
    runId: 'r',
    seq: 1,
    iteration: 1,
    at: 1,
    agentPath: ['a'],
  };
  source.batch({ type: 'data-isoloop-event', data: event, transient: true });
  source.batch(delta('two'));
  await expect.poll(() => container.textContent).toContain('onetwo');
  expect(counts.page).toBe(before + 1);
});

test('a history that is loaded again renders only the messages that changed', async () => {
  const { source, counts, chat } = await mounted();
  const parts: UIMessage['parts'] = [{ type: 'text', text: 'one' }];
  source.history = [
    { id: 'q', role: 'user', parts },
    { id: 'b', role: 'assistant', parts: [...parts, { type: 'text', text: 'two' }] },
  ];
  await chat().resumeStream();
  await expect.poll(() => counts.parts).toEqual({ 'q 0': 1, 'b 0': 1, 'b 1': 1 });
  const [question] = chat().messages;
  source.history = source.history.map((message) =>
    message.id === 'q'
      ? message
      : { ...message, parts: [...parts, { type: 'text', text: 'three' }] },
  );
  await chat().resumeStream();
  await expect.poll(() => counts.parts).toEqual({ 'q 0': 1, 'b 0': 1, 'b 1': 2 });
  expect(chat().messages[0]).toBe(question);
});

test('a look for changes of other pages renders nothing if there are none', async () => {
  const { source, counts, chat } = await mounted();
  source.history = [{ id: 'q', role: 'user', parts: [{ type: 'text', text: 'one' }] }];
  await chat().resumeStream();
  await expect.poll(() => chat().messages).toHaveLength(1);
  await expect.poll(() => chat().status).toBe('ready');
  const { page } = counts;
  const { reads } = source;
  for (let look = 1; look <= 3; look += 1) {
    source.look();
    await expect.poll(() => source.reads).toBeGreaterThanOrEqual(reads + look);
    await settle();
  }
  expect(counts.page).toBe(page);
});

test('with throttleMs, deltas render at most once in each period, and other changes at once', async () => {
  const clock = fakeClock();
  const wait: Wait = (isDone) => clock.waitFor(() => expect(isDone()).toBe(true));
  const { source, counts, container, send } = await mounted({ throttleMs: 1000 }, wait);
  await send('go');
  source.batch(...beginning('a'), delta('0 '));
  await clock.waitFor(() => expect(container.textContent).toContain('0 '));
  const before = counts.page;
  for (const text of ['1 ', '2 ', '3 ']) source.batch(delta(text));
  await settle();
  expect(container.textContent).not.toContain('1 ');
  clock.advanceSync(1000);
  await settle();
  expect(container.textContent).toContain('0 1 2 3 ');
  expect(counts.page).toBe(before + 1);
  source.batch(delta('4 '));
  source.end();
  await settle();
  expect(container.textContent).toMatch(/^ready.*4 $/);
  expect(clock.pendingTimers()).toBe(0);
});

/** Lets all microtasks and messages run, without timers. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1)
    await new Promise<void>((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.addEventListener('message', () => {
        port1.close();
        resolve();
      });
      port1.start();
      port2.postMessage(null);
    });
}

test('while a transition renders, an answer loses nothing, and all components show the same', async () => {
  const source = new HeldSource();
  const options = { sessionId: crypto.randomUUID() };
  const torn: string[] = [];
  let show: (count: number) => void = () => {};
  let text = '';
  function Slow(): ReactNode {
    const { messages } = useAgentChat(source, options);
    spin(2);
    return h('i', null, textOf(messages));
  }
  function App(): ReactNode {
    const [count, setCount] = useState(1);
    useEffect(() => {
      show = setCount;
    }, []);
    return Array.from({ length: count }, (_, index) => h(Slow, { key: index }));
  }
  const container = document.createElement('div');
  const observer = new MutationObserver(() => {
    const all = new Set(Array.from(container.querySelectorAll('i'), (each) => each.textContent));
    if (all.size > 1) torn.push([...all].join(' | '));
  });
  observer.observe(container, { childList: true, characterData: true, subtree: true });
  const root = createRoot(container);
  root.render(h(StrictMode, null, h(App)));
  onTestFinished(() => root.unmount());
  const chat = await helpersOf(source, options);
  void chat().sendMessage({ text: '' });
  await expect.poll(() => source.requests.length).toBe(1);
  source.batch(...beginning('a'));
  for (let round = 0; round < 20; round += 1) {
    startTransition(() => show(5 + (round % 5)));
    text += `${round} `;
    source.batch(delta(`${round} `));
    await settle();
  }
  source.end();
  await expect.poll(() => container.querySelectorAll('i')).toHaveLength(9);
  await expect.poll(() => container.querySelector('i')!.textContent).toBe(text);
  expect(torn).toEqual([]);
});

/** Keeps the page busy for a time in milliseconds. */
function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Mounts another component of the chat, and returns what it shows. */
async function helpersOf(source: AgentSource, options: UseAgentChatOptions) {
  const page = pageOf(source, options);
  const root = createRoot(document.createElement('div'));
  root.render(h(page.Page));
  onTestFinished(() => root.unmount());
  await expect.poll(() => page.chat()?.status).toBe('ready');
  return page.chat;
}

function textOf(messages: readonly UIMessage[]): string {
  return messages
    .flatMap(({ parts }) => parts)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');
}

test.for([true, false])(
  'a page that was rendered with initialMessages hydrates without a difference, and then loads the history (strict mode: %s)',
  async (isStrict) => {
    const endpoint = new ChatEndpoint(['Hello.']);
    const options = {
      sessionId: crypto.randomUUID(),
      initialMessages: [
        { id: 'q', role: 'user', parts: [{ type: 'text', text: 'from the server' }] },
      ] satisfies UIMessage[],
    };
    const pageAt = (api: string) => {
      const { Page, chat } = pageOf(agentEndpoint(api, { fetch: endpoint.fetch }), options);
      return { chat, element: isStrict ? h(StrictMode, null, h(Page)) : h(Page) };
    };
    const container = document.createElement('div');
    container.innerHTML = renderToString(pageAt('/server').element);
    expect(container.textContent).toBe('loadingfrom the server');
    expect(endpoint.requests).toEqual([]);
    const errors: unknown[] = [];
    const { element, chat } = pageAt('/api/chat');
    const root = hydrateRoot(container, element, {
      onRecoverableError: (error) => errors.push(error),
    });
    onTestFinished(() => root.unmount());
    await expect.poll(() => chat()?.status).toBe('ready');
    expect(chat().messages).toEqual([]);
    await chat().sendMessage({ text: 'hi' });
    await expect.poll(() => container.textContent).toMatch(/hi.*Hello\./);
    expect(errors).toEqual([]);
  },
);

test('`sessions` and its methods stay the same while an answer arrives, and `open` also in another conversation', async () => {
  const { chat, source, send } = await mounted();
  const { sessions } = chat();
  await send('go');
  source.batch(...beginning('a'), delta('one'));
  await inRealTime(() => chat().status === 'streaming');
  source.end();
  await inRealTime(() => chat().status === 'ready');
  expect(chat().messages).toHaveLength(2);
  expect(chat().sessions).toBe(sessions);
  sessions.open('other');
  await inRealTime(() => chat().id === 'other');
  expect(chat().sessions).not.toBe(sessions);
  expect(chat().sessions.current).toBe('other');
  expect(chat().sessions.open).toBe(sessions.open);
});

test('`sessions` stays the same if its list is loaded again without a change', async () => {
  const endpoint = new ChatEndpoint(['One.']);
  const source = agentEndpoint('/api/chat', { fetch: endpoint.fetch });
  const view = mountChat(source, { sessionId: crypto.randomUUID(), listSessions: true });
  await expect.poll(() => view.chat()?.sessions.list).toHaveLength(1);
  const { sessions } = view.chat();
  const lists = (): number =>
    endpoint.requests.filter((route) => route === 'GET /api/chats').length;
  const count = lists();
  await view.chat().sendMessage({ text: 'go' });
  await expect.poll(lists).toBe(count + 1);
  await expect.poll(() => view.chat().status).toBe('ready');
  // Its request follows that for the list.
  await view.chat().sessions.rename('c', 'One');
  expect(view.chat().sessions).toBe(sessions);
});
