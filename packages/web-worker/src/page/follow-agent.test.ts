import {
  connectAgent,
  followAgent,
  IndexedDbSessions,
  IndexedDbStore,
  type RemoteAgent,
  type WorkerChatTransport,
} from '@isoloop/web-worker';
import { typedTransport } from '@isoloop/core/stream';
import type { ChatTransport, UIMessage } from 'ai';
import { expect, onTestFinished, test } from 'vitest';
import { chatOver, PlainChat } from '../../test-support/plain-chat.ts';
import type { PageFixtureOptions } from '../../test-support/page.ts';
import { cutOff, startTabs } from '../../test-support/tabs-under-test.ts';

function startWorker() {
  const worker = new Worker(new URL('../../test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const sessionId = crypto.randomUUID();
  const connect = (options: PageFixtureOptions) =>
    connectAgent(worker, { timeoutMs: 120_000, agent: 'main', sessionId, options });
  return { worker, connect };
}

function textsOf(chat: PlainChat): readonly string[] {
  return chat.messages.map(
    ({ role, parts }) =>
      `${role}: ${parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}`,
  );
}

const threeRuns = ['first', 'One.', 'second', 'Two.', 'third', 'Three.'].map(
  (text, index) => `${index % 2 ? 'assistant' : 'user'}: ${text}`,
);

test('a chat shows the run of another tab that begins before the chat has read its own to the end', async () => {
  const { connect } = startWorker();
  const options = { replies: ['One.', 'Two.'] };
  const [agent, other] = [connect(options), connect(options)];
  const { transport, open } = holdAnswers(agent);
  const chat = new PlainChat({ transport });
  onTestFinished(followAgent(agent, chat));
  await agent.uiMessages();
  const sending = chat.sendMessage({ text: 'first' });
  await expect.poll(() => textsOf(chat).at(-1)).toBe('assistant: One.');
  await other.call('second');
  // The chat's page has the events of the second run before this answer.
  await agent.uiMessages();
  expect(chat.status).toBe('streaming');
  open();
  await sending;
  await expect
    .poll(() => textsOf(chat))
    .toEqual(['user: first', 'assistant: One.', 'user: second', 'assistant: Two.']);
});

/**
 * Holds the end of each answer until the test calls `open()`, which ends the held answers. With an
 * error, they fail.
 */
function holdAnswers(agent: RemoteAgent) {
  let ends: ((error?: Error) => void)[] = [];
  const hold = <T>(answer: ReadableStream<T>): ReadableStream<T> => {
    const opened = new Promise<void>((resolve, reject) => {
      ends.push((error) => (error ? reject(error) : resolve()));
    });
    return answer.pipeThrough(new TransformStream({ flush: () => opened }));
  };
  const open = (error?: Error): void => {
    for (const end of ends) end(error);
    ends = [];
  };
  const inner: WorkerChatTransport = agent.chatTransport();
  const transport: ChatTransport<UIMessage> = {
    sendMessages: async (request) => hold(await inner.sendMessages(request)),
    async reconnectToStream(request) {
      const answer = await inner.reconnectToStream(request);
      return answer && hold(answer);
    },
  };
  return { transport, open };
}

/** Lets a test hold the history that a chat has read, and counts how often the chat reads it. */
function holdHistory(agent: RemoteAgent, firstHeldRead: number) {
  let heldRead = firstHeldRead;
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const counts = { begun: 0, ended: 0 };
  const holdNext = (): number => (heldRead = counts.begun + 1);
  const held = {
    watch: () => agent.watch(),
    async uiMessages() {
      counts.begun += 1;
      const isHeld = counts.begun === heldRead;
      const messages = await agent.uiMessages();
      counts.ended += 1;
      if (isHeld) await opened;
      return messages;
    },
  };
  return { held, counts, holdNext, open };
}

// A chat that mounts reads the history before and after it asks for a running answer.
test.for([1, 2])(
  'a chat shows the run of another tab that begins and ends during read %i of its history',
  async (heldRead) => {
    const { connect } = startWorker();
    const options = { replies: ['One.'] };
    const [agent, other] = [connect(options), connect(options)];
    const { held, counts, open } = holdHistory(agent, heldRead);
    const chat = chatOver(agent);
    onTestFinished(followAgent(held, chat));
    await expect.poll(() => counts.ended).toBe(heldRead);
    await other.call('first');
    open();
    await expect.poll(() => textsOf(chat)).toEqual(['user: first', 'assistant: One.']);
  },
);

test.for([
  { withoutModel: 'answers', texts: ['user: first', 'assistant: Stored.'] },
  { withoutModel: 'fails', texts: ['user: first'] },
] as const)(
  'a chat shows the run of another tab that $withoutModel without a request to the model',
  async ({ withoutModel, texts }) => {
    const { connect } = startWorker();
    const [agent, other] = [connect({ withoutModel }), connect({ withoutModel })];
    const { held, counts } = holdHistory(agent, 0);
    const chat = chatOver(agent);
    onTestFinished(followAgent(held, chat));
    await expect.poll(() => counts.ended).toBe(2);
    await other.call('first').catch(() => {});
    await expect.poll(() => textsOf(chat)).toEqual(texts);
  },
);

test.each([
  [
    'a typed transport',
    (agent: RemoteAgent) => typedTransport(agent.chatTransport()),
    {},
    'tool-here',
  ],
  ['no typed transport', (agent: RemoteAgent) => agent.chatTransport(), {}, 'dynamic-tool'],
  [
    'a wrapped typed transport and the option',
    (agent: RemoteAgent) => wrapped(typedTransport(agent.chatTransport())),
    { typed: true },
    'tool-here',
  ],
] as const)(
  'with %s, live parts, the history and a second tab have one type',
  async (_name, transportOf, options, type) => {
    const { connect } = startWorker();
    const agent = connect({ replies: [{ toolCalls: [{ name: 'here' }] }, 'Done.'] });
    const seen = new Set<string>();
    const open = (): PlainChat => {
      const chat = new PlainChat({ transport: transportOf(agent) as ChatTransport<UIMessage> });
      onTestFinished(followAgent(agent, chat, options));
      return chat;
    };
    const typesIn = ({ messages }: PlainChat): readonly string[] =>
      messages
        .flatMap(({ parts }) => parts.filter((each) => 'toolCallId' in each))
        .map((each) => each.type);
    const look = (chat: PlainChat): string => {
      for (const each of typesIn(chat)) seen.add(each);
      return textsOf(chat).at(-1) ?? '';
    };
    const [chat, other] = [open(), open()];
    await agent.uiMessages();
    await chat.sendMessage({ text: 'go' });
    for (const each of [chat, other, open()])
      await expect.poll(() => look(each)).toBe('assistant: Done.');
    await expect.poll(() => chat.status).toBe('ready');
    // The follower has read the history, too.
    await agent.uiMessages();
    for (const each of [chat, other]) look(each);
    expect([...seen]).toEqual([type]);
  },
);

/** A transport of an app's own, which has only the two methods. */
function wrapped(inner: Pick<WorkerChatTransport, 'sendMessages' | 'reconnectToStream'>) {
  return {
    sendMessages: (...args: Parameters<WorkerChatTransport['sendMessages']>) =>
      inner.sendMessages(...args),
    reconnectToStream: () => inner.reconnectToStream(),
  };
}

test('a chat that has read its own answer does not load it again', async () => {
  const { connect } = startWorker();
  const agent = connect({ replies: ['One.'] });
  const { held, counts } = holdHistory(agent, 0);
  const chat = chatOver(agent);
  onTestFinished(followAgent(held, chat));
  await expect.poll(() => counts.ended).toBe(2);
  await chat.sendMessage({ text: 'first' });
  const answer = chat.lastMessage;
  // The worker answers in order, so the chat has handled all events of its run.
  for (let trip = 0; trip < 20; trip += 1) await agent.pending();
  expect(chat.lastMessage).toBe(answer);
});

test('a chat keeps a message that a guard has refused', async () => {
  const { connect } = startWorker();
  const agent = connect({ guarded: true });
  const { held, counts } = holdHistory(agent, 0);
  const chat = chatOver(agent);
  onTestFinished(followAgent(held, chat));
  await expect.poll(() => counts.ended).toBe(2);
  await chat.sendMessage({ text: 'bad' });
  for (let trip = 0; trip < 20; trip += 1) await agent.pending();
  expect(textsOf(chat)).toEqual(['user: bad', 'assistant: Not here.']);
});

test('a chat that mounts again while its continued run ends shows the whole answer', async () => {
  const { worker, connect } = startWorker();
  const agent = connect({ replies: ['One.'], gated: true });
  const answer = agent.call('first');
  for await (const { type } of agent.watch()) if (type === 'pre-reasoning') break;
  const stale = [...(await agent.uiMessages())] as UIMessage[];
  worker.postMessage({ open: true });
  await answer;
  // AI SDK's own `resume` finds no run, and cannot replace the messages.
  const transport: ChatTransport<UIMessage> = agent.chatTransport();
  const alone = new PlainChat({ transport, messages: stale });
  await alone.resumeStream();
  expect(textsOf(alone)).toEqual(['user: first']);
  const chat = new PlainChat({ transport, messages: stale });
  onTestFinished(followAgent(agent, chat));
  await expect.poll(() => textsOf(chat)).toEqual(['user: first', 'assistant: One.']);
});

test('a chat shows a run that ends while the chat reads another one, if its user sends before the next history', async () => {
  const { worker, connect } = startWorker();
  const options = { replies: ['One.', 'Two.', 'Three.'], gated: true };
  const [agent, other] = [connect(options), connect(options)];
  const { transport, open } = holdAnswers(agent);
  const { held, counts, holdNext, open: openHistory } = holdHistory(agent, 0);
  const chat = new PlainChat({ transport });
  onTestFinished(followAgent(held, chat));
  await expect.poll(() => counts.ended).toBe(2);
  const first = other.call('first');
  await expect.poll(() => chat.status).toBe('submitted');
  worker.postMessage({ open: true });
  await first;
  await other.call('second');
  // The worker answers in order, so the chat's page has all events of the second run.
  await agent.pending();
  const heldRead = holdNext();
  open();
  await expect.poll(() => counts.ended).toBe(heldRead);
  const sending = chat.sendMessage({ text: 'third' });
  await expect.poll(() => textsOf(chat).at(-1)).toBe('assistant: Three.');
  openHistory();
  open();
  await sending;
  await expect.poll(() => textsOf(chat)).toEqual(threeRuns);
});

test('a chat shows the run of another tab if its user sends while the chat looks for this run', async () => {
  const { connect } = startWorker();
  const options = { replies: ['One.', 'Two.', 'Three.'] };
  const [agent, other] = [connect(options), connect(options)];
  const { transport, open } = holdAnswers(agent);
  const { held, counts, holdNext, open: openHistory } = holdHistory(agent, 0);
  const chat = new PlainChat({ transport });
  onTestFinished(followAgent(held, chat));
  await expect.poll(() => counts.ended).toBe(2);
  const first = chat.sendMessage({ text: 'first' });
  await expect.poll(() => textsOf(chat).at(-1)).toBe('assistant: One.');
  await other.call('second');
  await agent.pending();
  const heldRead = holdNext();
  open();
  await first;
  await expect.poll(() => counts.ended).toBe(heldRead);
  const third = chat.sendMessage({ text: 'third' });
  await expect.poll(() => textsOf(chat).at(-1)).toBe('assistant: Three.');
  openHistory();
  // The chat handles the history while it is busy.
  await agent.pending();
  open();
  await third;
  await expect.poll(() => textsOf(chat)).toEqual(threeRuns);
});

test('a chat shows the run of another tab after an answer of its own has failed', async () => {
  const { connect } = startWorker();
  const options = { replies: ['One.', 'Two.'] };
  const [agent, other] = [connect(options), connect(options)];
  const { transport, open } = holdAnswers(agent);
  const { held, counts } = holdHistory(agent, 0);
  const chat = new PlainChat({ transport });
  onTestFinished(followAgent(held, chat));
  await expect.poll(() => counts.ended).toBe(2);
  const first = chat.sendMessage({ text: 'first' });
  await expect.poll(() => textsOf(chat).at(-1)).toBe('assistant: One.');
  await other.call('second');
  await agent.pending();
  open(new Error('The page has lost the answer.'));
  await first;
  expect(chat.status).toBe('error');
  await expect.poll(() => textsOf(chat)).toEqual(threeRuns.slice(0, 4));
});

test.for(['history', 'answer'] as const)(
  'a chat that fails once to read the %s reads it at the next run',
  async (failing) => {
    const { connect } = startWorker();
    const options = { replies: ['One.', 'Two.'] };
    const [agent, other] = [connect(options), connect(options)];
    const held = holdHistory(agent, 0).held;
    const chat = chatOver(agent);
    let failures = 0;
    const failOnce =
      <T>(read: () => Promise<T>) =>
      async (): Promise<T> => {
        failures += 1;
        if (failures === 1) throw new Error('Nothing can be read.');
        return read();
      };
    if (failing === 'history') held.uiMessages = failOnce(held.uiMessages);
    else chat.resumeStream = failOnce(chat.resumeStream);
    onTestFinished(followAgent(held, chat));
    await expect.poll(() => failures).toBe(1);
    await other.call('first');
    await expect.poll(() => textsOf(chat)).toEqual(threeRuns.slice(0, 2));
    // The chat knows its own run again, and does not load it.
    await chat.sendMessage({ text: 'second' });
    const answer = chat.lastMessage;
    for (let trip = 0; trip < 20; trip += 1) await agent.pending();
    expect(chat.lastMessage).toBe(answer);
  },
);

test('if a conversation is deleted, the chats of all tabs become empty', async () => {
  const { open, sessionId } = startTabs();
  const chats = [open(), open()].map((tab) => {
    const agent = tab.connect(['One.', 'Two.']);
    const chat = chatOver(agent);
    onTestFinished(followAgent(agent, chat));
    return chat;
  });
  const [chat] = chats as [PlainChat];
  await chat.sendMessage({ text: 'first' });
  for (const each of chats)
    await expect.poll(() => textsOf(each)).toEqual(['user: first', 'assistant: One.']);
  const sessions = new IndexedDbSessions({ store: new IndexedDbStore({ database: sessionId }) });
  await sessions.delete(sessionId);
  for (const each of chats) await expect.poll(() => textsOf(each)).toEqual([]);
  await chat.sendMessage({ text: 'second' });
  for (const each of chats)
    await expect.poll(() => textsOf(each)).toEqual(['user: second', 'assistant: Two.']);
});

test('if a conversation is deleted during an answer, the chats of all tabs become empty', async () => {
  const { open, sessionId } = startTabs();
  const tabs = [open(), open()];
  const chats = tabs.map((tab) => {
    const agent = tab.connect(cutOff);
    const chat = chatOver(agent);
    onTestFinished(followAgent(agent, chat));
    return chat;
  });
  const [one, other] = chats as [PlainChat, PlainChat];
  void other.sendMessage({ text: 'go' });
  // Any of the tabs may lead.
  await Promise.race(tabs.map((tab) => tab.heard({ reached: 'middle' })));
  await expect.poll(() => textsOf(one).at(-1)).toContain('half of');
  const sessions = new IndexedDbSessions({ store: new IndexedDbStore({ database: sessionId }) });
  await sessions.delete(sessionId);
  for (const chat of chats) {
    await expect.poll(() => textsOf(chat)).toEqual([]);
    await expect.poll(() => chat.status).toBe('ready');
    expect(chat.error).toBeUndefined();
  }
});
