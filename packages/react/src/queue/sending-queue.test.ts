import type { AgentLink } from '@isoloop/core/host';
import { expect, onTestFinished, test } from 'vitest';
import { SendingQueue } from './sending-queue.ts';

/** Opens the queue of a conversation whose answer does not end. */
function openQueue(key: string): SendingQueue {
  const queuePlace: AgentLink['queuePlace'] = { storage: 'sessionStorage', key };
  const link = { queuePlace } as AgentLink;
  const queue = new SendingQueue({
    chat: { state: { messages: [] }, sendMessage: async () => {} },
    connection: { isOpen: true, link },
    gate: { whenFree: () => new Promise(() => {}) },
    loading: { isReading: true, onLoaded: () => {} },
    store: { state: { queued: [] }, subscribe: () => () => {}, set: () => {} },
  });
  queue.open(link);
  onTestFinished(() => {
    queue.forget();
    queue.close();
  });
  return queue;
}

test('a message that is sent just before the conversation is deleted leaves nothing in the browser', async () => {
  const key = crypto.randomUUID();
  const keptTexts = (): readonly string[] =>
    Object.keys(sessionStorage)
      .filter((name) => name.includes(key))
      .map((name) => JSON.parse(sessionStorage.getItem(name)!).parts[0].text);
  const queue = openQueue(key);
  void queue.sendMessage({ text: 'waits' });
  queue.forget();
  void queue.sendMessage({ text: 'later' });
  await expect.poll(keptTexts).toContain('later');
  expect(keptTexts()).toEqual(['later']);
});
