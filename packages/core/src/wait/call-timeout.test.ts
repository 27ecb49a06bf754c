import { afterEach, expect, test, vi } from 'vitest';
import { CallTimeout } from './call-timeout.ts';

afterEach(() => void vi.useRealTimers());

function setUp() {
  vi.useFakeTimers();
  const onTimeout = vi.fn();
  return { onTimeout, timeout: new CallTimeout({ timeoutMs: 100, now: Date.now, onTimeout }) };
}

test('only the time counts in which no pause lasts', async () => {
  const { onTimeout, timeout } = setUp();
  timeout.resume();
  await vi.advanceTimersByTimeAsync(60);
  await Promise.all([
    timeout.untimed(() => vi.advanceTimersByTimeAsync(200)),
    timeout.untimed(async () => {}),
  ]);
  await vi.advanceTimersByTimeAsync(39);
  expect(onTimeout).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(onTimeout.mock.calls).toMatchObject([[{ code: 'CALL_TIMEOUT' }]]);
});

test('work before the turn of the agent call does not count, also if it ends after the turn began', async () => {
  const { onTimeout, timeout } = setUp();
  await timeout.untimed(() => vi.advanceTimersByTimeAsync(500));
  let end = (): void => {};
  const work = timeout.untimed(() => new Promise<void>((resolve) => (end = resolve)));
  timeout.resume();
  await vi.advanceTimersByTimeAsync(500);
  end();
  await work;
  await vi.advanceTimersByTimeAsync(99);
  expect(onTimeout).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(onTimeout).toHaveBeenCalledOnce();
});

test('no time counts after the end, also if work ends later', async () => {
  const { onTimeout, timeout } = setUp();
  timeout.resume();
  let end = (): void => {};
  const work = timeout.untimed(() => new Promise<void>((resolve) => (end = resolve)));
  timeout.pause();
  end();
  await work;
  await vi.advanceTimersByTimeAsync(500);
  expect(onTimeout).not.toHaveBeenCalled();
});
