import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deadline } from './deadline.ts';
import { sleepFor } from './timer.ts';
import { fakeClock, type FakeClock } from '@test/clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));
afterEach(() => {
  // A spy that is restored later would bring the fake timer back.
  vi.restoreAllMocks();
});

const timedOut = { code: 'MODEL_TIMEOUT' };

/** Returns work that takes `ms` milliseconds. */
const work = (ms: number) => (): Promise<string> =>
  new Promise((resolve) => setTimeout(() => resolve('done'), ms));

const never = (): Promise<never> => new Promise(() => {});

const create = (timeoutMs = 1_000): Deadline =>
  new Deadline(new AbortController().signal, timeoutMs);

/** Returns whether `promise` has settled after `ms` milliseconds, and how. */
async function after(promise: Promise<unknown>, ms: number): Promise<unknown> {
  let outcome: unknown = 'pending';
  promise.then(
    (value) => (outcome = value),
    (error: unknown) => (outcome = error),
  );
  await clock.advance(ms);
  return outcome;
}

test('many short waits start one timer, which `end` removes', async () => {
  const deadline = create();
  const start = vi.spyOn(globalThis, 'setTimeout');
  for (let waits = 0; waits < 20; waits += 1) await deadline.wait(async () => waits);
  for (let reads = 0; reads < 20; reads += 1) await deadline.listen(async () => reads);
  expect(start).toHaveBeenCalledTimes(1);
  expect(clock.pendingTimers()).toBe(1);
  deadline.end();
  expect(clock.pendingTimers()).toBe(0);
});

test('each wait has the whole time limit', async () => {
  const deadline = create();
  expect(await after(deadline.wait(work(900)), 900)).toBe('done');
  const second = deadline.wait(never);
  expect(await after(second, 999)).toBe('pending');
  expect(await after(second, 1)).toMatchObject(timedOut);
});

test('time between two waits does not count', async () => {
  const deadline = create();
  expect(await after(deadline.wait(work(10)), 10)).toBe('done');
  await clock.advance(5_000);
  expect(deadline.signal.aborted).toBe(false);
  const second = deadline.wait(never);
  expect(await after(second, 999)).toBe('pending');
  expect(await after(second, 1)).toMatchObject(timedOut);
});

test('a wait with a shorter limit than the running timer ends in time', async () => {
  const deadline = create();
  expect(await after(deadline.wait(work(10)), 10)).toBe('done');
  const short = deadline.wait(never, 50);
  expect(await after(short, 49)).toBe('pending');
  expect(await after(short, 1)).toMatchObject({ message: expect.stringContaining('50 ms') });
});

test('reads without content share one limit, and content starts it again', async () => {
  const deadline = create();
  expect(await after(deadline.listen(work(600)), 600)).toBe('done');
  expect(await after(deadline.listen(work(300)), 300)).toBe('done');
  deadline.reset();
  expect(await after(deadline.listen(work(900)), 900)).toBe('done');
  expect(await after(deadline.listen(never), 100)).toMatchObject(timedOut);
});

test('a timer never gets a time that `setTimeout` does not accept', () => {
  const start = vi.spyOn(globalThis, 'setTimeout');
  const { signal } = new AbortController();
  for (let at = 0.1; at < 1e6; at *= 1.7) {
    // Time passes between the beginning of the wait and the start of its timer.
    vi.spyOn(performance, 'now')
      .mockReturnValueOnce(at)
      .mockReturnValue(at + 0.3);
    for (const timeoutMs of [0, 0.1, 1e12, Infinity]) void create(timeoutMs).wait(never);
    for (const ms of [-1, 1e12]) void sleepFor(ms, signal);
  }
  const times = start.mock.calls.map(([, ms]) => ms!);
  expect(Math.min(...times)).toBe(0);
  expect(Math.max(...times)).toBe(2 ** 31 - 1);
});

test('a limit longer than `setTimeout` accepts still counts', async () => {
  const deadline = create(2 ** 31 + 10);
  const waiting = deadline.wait(never);
  expect(await after(waiting, 2 ** 31 + 9)).toBe('pending');
  expect(await after(waiting, 1)).toMatchObject(timedOut);
});

// https://github.com/anthropics/claude-code/issues/53695
test('after the machine slept, work whose answer has arrived gets a moment to end', async () => {
  const now = performance.now.bind(performance);
  let sleptMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + sleptMs);
  const deadline = create();
  // The timer fires first, because the event loop reads the network later.
  const answered = after(deadline.wait(work(1_010)), 1_010);
  sleptMs = 3_600_000;
  expect(await answered).toBe('done');
  expect(deadline.signal.aborted).toBe(false);
  deadline.end();
});

test('after the machine slept, a wait without an answer ends a little later', async () => {
  const now = performance.now.bind(performance);
  let sleptMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + sleptMs);
  const deadline = create();
  const silent = deadline.wait(never);
  sleptMs = 3_600_000;
  expect(await after(silent, 1_000 + 4_999)).toBe('pending');
  expect(await after(silent, 1)).toMatchObject(timedOut);
});
