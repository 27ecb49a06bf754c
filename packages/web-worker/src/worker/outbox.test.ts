import type { AgentEvent } from '@isoloop/core';
import { expect, onTestFinished, test } from 'vitest';
import { Outbox } from './outbox.ts';
import { initialCredits, type RunMessage } from '../wire/protocol.ts';

/**
 * Opens an outbox. Returns the outbox, the messages that it posts, and a function that runs its
 * waiting macrotasks.
 */
function openOutbox() {
  const { port1: port, port2: page } = new MessageChannel();
  const tasks: (() => void)[] = [];
  const posted: RunMessage<number>[] = [];
  port.postMessage = (message: RunMessage<number>) => void posted.push(message);
  const outbox = new Outbox<number>({
    port,
    encoding: { encode: (events) => events.map(({ seq }) => seq) },
    schedule: (task) => tasks.push(task),
  });
  onTestFinished(() => {
    outbox.close();
    page.close();
  });
  return { outbox, port, page, posted, macrotask: () => tasks.splice(0).forEach((task) => task()) };
}

const batch = (...seqs: readonly number[]): readonly AgentEvent[] =>
  seqs.map((seq) => ({ type: 'run-start', seq }) as AgentEvent);

test('Outbox joins all batches of a macrotask into one message and counts them', () => {
  const { outbox, posted, macrotask } = openOutbox();
  outbox.add(batch(1, 2));
  outbox.add(batch(3));
  outbox.add(batch(4, 5));
  expect(posted).toEqual([]);
  macrotask();
  expect(posted).toEqual([{ type: 'batch', items: [1, 2, 3, 4, 5], reads: 3 }]);
  macrotask();
  outbox.add(batch(6));
  macrotask();
  expect(posted.slice(1)).toEqual([{ type: 'batch', items: [6], reads: 1 }]);
});

test('2,000 deltas in 25 reads, each in a macrotask of its own, make 25 messages', () => {
  const { outbox, posted, macrotask } = openOutbox();
  for (let read = 0; read < 25; read++) {
    outbox.add(batch(...Array.from({ length: 80 }, (_, index) => read * 80 + index)));
    macrotask();
  }
  expect(posted).toHaveLength(25);
  expect(posted.flatMap((message) => (message.type === 'batch' ? message.items : []))).toEqual(
    Array.from({ length: 2000 }, (_, index) => index),
  );
});

test('Outbox posts the waiting batches before the end of the run', () => {
  const { outbox, posted, macrotask } = openOutbox();
  const outcome = {
    ok: false,
    error: { name: 'AgentError', code: 'ABORTED', message: 'gone', retryable: false },
  } as const;
  outbox.add(batch(1));
  outbox.end(outcome);
  macrotask();
  expect(posted).toEqual([
    { type: 'batch', items: [1], reads: 1 },
    { type: 'end', outcome },
  ]);
});

test('a batch costs one credit; without credits the next batch waits until the page grants more', async () => {
  const { outbox, port, page } = openOutbox();
  for (let read = 1; read < initialCredits; read++) outbox.add(batch(read));
  await outbox.ready();
  outbox.add(batch(initialCredits));
  let granted = false;
  const ready = outbox.ready().then(() => granted);
  page.postMessage({ credits: 0 });
  await new Promise((resolve) => port.addEventListener('message', resolve, { once: true }));
  granted = true;
  page.postMessage({ credits: 1 });
  expect(await ready).toBe(true);
});

test('a closed outbox blocks nobody and posts nothing', async () => {
  const { outbox, posted, macrotask } = openOutbox();
  for (let read = 0; read < initialCredits; read++) outbox.add(batch(read));
  const ready = outbox.ready();
  outbox.close();
  await ready;
  macrotask();
  expect(posted).toEqual([]);
});
