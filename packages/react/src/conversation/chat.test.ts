import type { AnswerBatches } from '@isoloop/core/host';
import type { UIMessage } from '@isoloop/core/stream';
import { expect, test } from 'vitest';
import { HeldSource } from '../../../web-worker/test-support/held-source.ts';
import type { ChatHandlers } from './chat-handlers.ts';
import { ChatStore } from './chat-store.ts';
import { Chat } from './chat.ts';
import { withOutput } from '../reading/call-parts.ts';
import { withResponse } from '../reading/agent-approvals.ts';

/** Creates a chat whose answers the test sends. */
function createChat(handlers: ChatHandlers = {}) {
  const source = new HeldSource();
  const store = new ChatStore(true);
  store.components.add({ current: handlers });
  return { source, store, chat: new Chat(source.link(), store) };
}

test('answers follow each other while a component says to send the messages again', async () => {
  let count = 0;
  const { source, chat } = createChat({
    sendAutomaticallyWhen: () => {
      count += 1;
      return count < 4;
    },
  });
  for (const id of ['1', '2', '3', '4']) {
    source.batch({ type: 'start', messageId: 'a' }, { type: 'text-start', id });
    source.end();
  }
  await chat.sendMessage({ text: 'go' }, { headers: { 'x-page': 'p' } });
  expect(source.requests.map(({ messageId, headers }) => [messageId, headers])).toEqual([
    [undefined, { 'x-page': 'p' }],
    ...Array.from({ length: 3 }, () => ['a', { 'x-page': 'p' }]),
  ]);
  expect(chat.state.messages.map(({ id }) => id)).toEqual([expect.any(String), 'a']);
});

test('no further answer follows one that has failed or was stopped', async () => {
  const { source, chat } = createChat({ sendAutomaticallyWhen: () => true });
  source.end(new Error('It failed.'));
  await chat.sendMessage({ text: 'go' });
  expect(source.requests).toHaveLength(1);
  const sending = chat.sendMessage({ text: 'again' });
  await expect.poll(() => source.requests).toHaveLength(2);
  await chat.stop();
  await sending;
  expect(source.requests).toHaveLength(2);
});

test('a retry loads the chat again only if no message has failed', async () => {
  const { source, chat } = createChat();
  const failToLoad = (): Promise<void> => chat.resume(() => Promise.reject(new Error('No load.')));
  await failToLoad();
  expect(chat.hasFailedToLoad).toBe(true);
  chat.noteUnanswered();
  await failToLoad();
  expect(chat.hasFailedToLoad).toBe(false);
  await chat.resume(async () => undefined);
  source.end(new Error('No answer.'));
  await chat.sendMessage({ text: 'go' });
  await failToLoad();
  expect(chat.hasFailedToLoad).toBe(false);
});

test('those who listen to the end of an answer get it before the components', async () => {
  const ends: string[] = [];
  const { source, chat } = createChat({ onFinish: () => ends.push('component') });
  chat.onFinish(({ message }) => ends.push(message.id));
  source.batch({ type: 'start', messageId: 'a' });
  source.end();
  await chat.sendMessage({ text: 'go' });
  expect(ends).toEqual(['a', 'component']);
});

/** Answer with a call that waits for the page, and one that waits for an approval. */
const waitingAnswer: UIMessage = {
  id: 'a',
  role: 'assistant',
  parts: [
    {
      type: 'dynamic-tool',
      toolName: 'color',
      toolCallId: 'c1',
      state: 'input-available',
      input: {},
    },
    {
      type: 'dynamic-tool',
      toolName: 'pay',
      toolCallId: 'c2',
      state: 'approval-requested',
      input: {},
      approval: { id: 'approval' },
    },
  ],
};
const addResult = (chat: Chat): void =>
  chat.changeCall((part) => withOutput(part, { toolCallId: 'c1', output: 'blue' }));
const approve = (chat: Chat): void =>
  chat.changeCall((part) => withResponse(part, { id: 'approval', approved: true }));
const statesIn = (messages: readonly UIMessage[]): readonly unknown[] =>
  messages.flatMap(({ parts }) => parts.map((part) => 'state' in part && part.state));

/** Creates a chat with that answer. A load of its history ends when the test says so. */
function createWaitingChat() {
  const asked: ((isWanted: boolean) => void)[] = [];
  /** Number of messages that the component was asked about, each time. */
  const lengths: number[] = [];
  const created = createChat({
    sendAutomaticallyWhen({ messages }) {
      lengths.push(messages.length);
      return new Promise((resolve) => void asked.push(resolve));
    },
  });
  const { chat } = created;
  chat.setMessages([waitingAnswer]);
  const beginLoad = (history: readonly UIMessage[] = [waitingAnswer]) => {
    let end = (): void => {};
    const whenEnded = new Promise<void>((resolve) => (end = resolve));
    const loading = chat.resume(async () => {
      await whenEnded;
      chat.showHistory(structuredClone(history));
      return undefined;
    });
    return async () => {
      end();
      await loading;
    };
  };
  return { ...created, asked, lengths, beginLoad };
}

test('a result is sent that a load overtakes while a component says whether to send it', async () => {
  const { chat, source, asked, beginLoad } = createWaitingChat();
  addResult(chat);
  await expect.poll(() => asked).toHaveLength(1);
  const endLoad = beginLoad();
  asked[0]!(true);
  await endLoad();
  // The load may have changed the messages, so the chat asks again.
  await expect.poll(() => asked).toHaveLength(2);
  asked[1]!(true);
  await expect.poll(() => source.requests).toHaveLength(1);
  expect(statesIn(source.requests[0]!.messages)).toEqual([
    'output-available',
    'approval-requested',
  ]);
  await chat.stop();
});

test('a load keeps results and decisions that the agent lacks, and no others', async () => {
  const { chat, asked, beginLoad } = createWaitingChat();
  addResult(chat);
  await expect.poll(() => asked).toHaveLength(1);
  asked[0]!(false);
  await beginLoad()();
  expect(statesIn(chat.state.messages)).toEqual(['output-available', 'approval-requested']);
  const [color, pay] = waitingAnswer.parts;
  const failed = { ...color, state: 'output-error', errorText: 'Too late.' } as typeof color;
  await beginLoad([{ ...waitingAnswer, parts: [failed!, pay!] }])();
  expect(statesIn(chat.state.messages)).toEqual(['output-error', 'approval-requested']);
  // Somebody who takes a result back on the page does not get it again.
  chat.setMessages([waitingAnswer]);
  await beginLoad()();
  expect(statesIn(chat.state.messages)).toEqual(['input-available', 'approval-requested']);
});

test('a decision that was sent is not kept over a load', async () => {
  const { chat, source, beginLoad } = createWaitingChat();
  approve(chat);
  await expect.poll(() => source.requests).toHaveLength(1);
  source.end(new Error('It was refused.'));
  await chat.whenIdle;
  await beginLoad()();
  expect(statesIn(chat.state.messages)).toEqual(['input-available', 'approval-requested']);
});

test.each(['fails', 'is stopped'])(
  'after an answer that %s, a load opens a call again that was decided meanwhile',
  async (end) => {
    const { chat, source, beginLoad } = createWaitingChat();
    void chat.sendMessage({ text: 'go' });
    await expect.poll(() => source.requests).toHaveLength(1);
    addResult(chat);
    approve(chat);
    if (end === 'fails') source.end(new Error('It failed.'));
    else await chat.stop();
    await chat.whenIdle;
    await beginLoad()();
    expect(statesIn(chat.state.messages)).toEqual(['output-available', 'approval-requested']);
  },
);

test('a resumed answer keeps a result that the agent lacks', async () => {
  const { chat, asked } = createWaitingChat();
  addResult(chat);
  await expect.poll(() => asked).toHaveLength(1);
  async function* replay(): AnswerBatches {
    yield [
      { type: 'start', messageId: 'a' },
      { type: 'tool-input-available', toolCallId: 'c1', toolName: 'color', input: {} },
    ];
  }
  const resuming = chat.resume(async () => {
    chat.showHistory([]);
    return replay();
  });
  await chat.whenIdle;
  expect(statesIn(chat.state.messages)).toEqual(['output-available']);
  await chat.stop();
  for (const answer of asked) answer(false);
  await resuming;
});

test('a load keeps a result whose request did not reach the agent', async () => {
  const link = new HeldSource().link();
  const send = (): Promise<never> => Promise.reject(new TypeError('Failed to fetch'));
  const chat = new Chat({ ...link, send }, new ChatStore(true));
  chat.setMessages([waitingAnswer]);
  addResult(chat);
  await chat.sendMessage();
  expect(chat.state.status).toBe('error');
  await chat.resume(async () => {
    chat.showHistory([waitingAnswer]);
    return undefined;
  });
  expect(statesIn(chat.state.messages)).toEqual(['output-available', 'approval-requested']);
});

test('after a load without messages, no component is asked whether to send them', async () => {
  const { chat, source, asked, lengths, beginLoad } = createWaitingChat();
  addResult(chat);
  await expect.poll(() => asked).toHaveLength(1);
  await beginLoad([])();
  asked[0]!(true);
  await beginLoad([])();
  expect(lengths).toEqual([1]);
  expect(source.requests).toEqual([]);
});
