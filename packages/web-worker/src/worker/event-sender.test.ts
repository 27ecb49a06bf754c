import type { AgentEvent } from '@isoloop/core';
import { expect, onTestFinished, test } from 'vitest';
import { EventSender } from './event-sender.ts';
import { initialCredits, type RunMessage } from '../wire/protocol.ts';

/**
 * Opens a sender. Returns the sender, the messages that it posts, and a function that runs its
 * waiting macrotasks.
 */
function openSender() {
  const { port1: port, port2: page } = new MessageChannel();
  const tasks: (() => void)[] = [];
  const posted: RunMessage<number>[] = [];
  port.postMessage = (message: RunMessage<number>) => void posted.push(message);
  const sender = new EventSender<number>({
    port,
    encoding: { encode: (events) => events.map(({ seq }) => seq) },
    schedule: (task) => tasks.push(task),
  });
  onTestFinished(() => {
    sender.close();
    page.close();
  });
  return { sender, port, page, posted, macrotask: () => tasks.splice(0).forEach((task) => task()) };
}

const batch = (...seqs: readonly number[]): readonly AgentEvent[] =>
  seqs.map((seq) => ({ type: 'run-start', seq }) as AgentEvent);

test('EventSender joins all batches of a macrotask into one message and counts them', () => {
  const { sender, posted, macrotask } = openSender();
  sender.add(batch(1, 2));
  sender.add(batch(3));
  sender.add(batch(4, 5));
  expect(posted).toEqual([]);
  macrotask();
  expect(posted).toEqual([{ type: 'batch', items: [1, 2, 3, 4, 5], reads: 3 }]);
  macrotask();
  sender.add(batch(6));
  macrotask();
  expect(posted.slice(1)).toEqual([{ type: 'batch', items: [6], reads: 1 }]);
});

test('2,000 deltas in 25 reads, each in a macrotask of its own, make 25 messages', () => {
  const { sender, posted, macrotask } = openSender();
  for (let read = 0; read < 25; read++) {
    sender.add(batch(...Array.from({ length: 80 }, (_, index) => read * 80 + index)));
    macrotask();
  }
  expect(posted).toHaveLength(25);
  expect(posted.flatMap((message) => (message.type === 'batch' ? message.items : []))).toEqual(
    Array.from({ length: 2000 }, (_, index) => index),
  );
});

test('EventSender posts the waiting batches before the end of the run', () => {
  const { sender, posted, macrotask } = openSender();
  const outcome = {
    ok: false,
    error: { name: 'AgentError', code: 'ABORTED', message: 'gone', retryable: false },
  } as const;
  sender.add(batch(1));
  sender.end(outcome);
  macrotask();
  expect(posted).toEqual([
    { type: 'batch', items: [1], reads: 1 },
    { type: 'end', outcome },
  ]);
});

test('a batch costs one credit; without credits the next batch waits until the page grants more', async () => {
  const { sender, port, page } = openSender();
  for (let read = 1; read < initialCredits; read++) sender.add(batch(read));
  await sender.ready();
  sender.add(batch(initialCredits));
  let granted = false;
  const ready = sender.ready().then(() => granted);
  page.postMessage({ credits: 0 });
  await new Promise((resolve) => port.addEventListener('message', resolve, { once: true }));
  granted = true;
  page.postMessage({ credits: 1 });
  expect(await ready).toBe(true);
});

test('a closed sender blocks nobody and posts nothing', async () => {
  const { sender, posted, macrotask } = openSender();
  for (let read = 0; read < initialCredits; read++) sender.add(batch(read));
  const ready = sender.ready();
  sender.close();
  await ready;
  macrotask();
  expect(posted).toEqual([]);
});
