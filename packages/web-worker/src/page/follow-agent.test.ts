import {
  connectAgent,
  followAgent,
  type RemoteAgent,
  type WorkerChatTransport,
} from '@isoloop/web-worker';
import type { ChatTransport, UIMessage } from 'ai';
import { expect, onTestFinished, test } from 'vitest';
import { chatOver, PlainChat } from '../../test-support/plain-chat.ts';
import type { PageFixtureOptions } from '../../test-support/page.ts';

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

test('a chat shows the run of another tab that begins before the chat has read its own to the end', async () => {
  const { connect } = startWorker();
  const options = { replies: ['One.', 'Two.'] };
  const [agent, other] = [connect(options), connect(options)];
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const transport: WorkerChatTransport = agent.chatTransport();
  const held: ChatTransport<UIMessage> = {
    ...transport,
    sendMessages: async (request) =>
      (await transport.sendMessages(request)).pipeThrough(
        new TransformStream({ flush: () => opened }),
      ),
  };
  const chat = new PlainChat({ transport: held });
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

/** Lets a test hold the history that a chat has read, and counts how often the chat reads it. */
function holdHistory(agent: RemoteAgent, heldRead: number) {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const counts = { begun: 0, ended: 0 };
  const held: Pick<RemoteAgent, 'uiMessages' | 'watch'> = {
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
  return { held, counts, open };
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
