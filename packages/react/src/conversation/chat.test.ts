import { expect, test } from 'vitest';
import { HeldSource } from '../../../web-worker/test-support/held-source.ts';
import type { ChatHandlers } from './chat-handlers.ts';
import { ChatStore } from './chat-store.ts';
import { Chat } from './chat.ts';

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
