import { expect, test } from 'vitest';
import { nextMacrotask } from '../../wire/macrotask.ts';
import { RunQueue } from './run-queue.ts';

/** Enters a queue for each of these tabs. The returned list has the tabs that have entered. */
function enterAll(queue: RunQueue, tabs: readonly string[]): string[] {
  const { signal } = new AbortController();
  const entered: string[] = [];
  for (const tab of tabs) void queue.enter(tab, signal).then(() => entered.push(tab));
  return entered;
}

test('a tab that calls again as soon as its call has ended goes behind the tabs that wait', async () => {
  const queue = new RunQueue();
  const entered = enterAll(queue, ['one', 'two', 'three']);
  for (let round = 0; round < 6; round += 1) {
    await nextMacrotask();
    expect(entered).toHaveLength(round + 1);
    const { activeTab } = queue;
    queue.leave();
    void queue.enter(activeTab!, new AbortController().signal).then(() => entered.push(activeTab!));
  }
  expect(entered).toEqual(['one', 'two', 'three', 'one', 'two', 'three']);
});

test('calls of the active tab do not wait, and other tabs wait for the last one of them', async () => {
  const queue = new RunQueue();
  const entered = enterAll(queue, ['one', 'two', 'one']);
  await nextMacrotask();
  expect(entered).toEqual(['one', 'one']);
  queue.leave();
  await nextMacrotask();
  expect(queue.activeTab).toBe('one');
  queue.leave();
  await nextMacrotask();
  expect(entered).toEqual(['one', 'one', 'two']);
});

test('a call that is aborted while it waits rejects and leaves its place', async () => {
  const queue = new RunQueue();
  enterAll(queue, ['one']);
  const controller = new AbortController();
  const aborted = queue.enter('two', controller.signal);
  const entered = enterAll(queue, ['three']);
  controller.abort();
  await expect(aborted).rejects.toMatchObject({ name: 'AgentError', code: 'ABORTED' });
  queue.leave();
  await nextMacrotask();
  expect(entered).toEqual(['three']);
});

test('a call that has its turn keeps it if it is aborted at the same moment', async () => {
  const queue = new RunQueue();
  enterAll(queue, ['one']);
  const controller = new AbortController();
  const entered = queue.enter('two', controller.signal);
  queue.leave();
  controller.abort();
  await entered;
  expect(queue.activeTab).toBe('two');
  queue.leave();
  expect(queue.activeTab).toBeUndefined();
});

test('a call that was aborted before leaves no place in the queue', async () => {
  const queue = new RunQueue();
  enterAll(queue, ['one']);
  await expect(queue.enter('two', AbortSignal.abort())).rejects.toMatchObject({ code: 'ABORTED' });
  queue.leave();
  expect(queue.activeTab).toBeUndefined();
});
