import { expect, test, vi } from 'vitest';
import { CallTimeout } from './call-timeout.ts';
import { monotonicNow } from './monotonic.ts';
import { fakeClock } from '@test/clock/fake-clock.ts';

function setUp() {
  const clock = fakeClock();
  const onTimeout = vi.fn();
  return {
    clock,
    onTimeout,
    timeout: new CallTimeout({ timeoutMs: 100, now: monotonicNow, onTimeout }),
  };
}

test('only the time counts in which no pause lasts', async () => {
  const { clock, onTimeout, timeout } = setUp();
  timeout.resume();
  await clock.advance(60);
  await Promise.all([timeout.untimed(() => clock.advance(200)), timeout.untimed(async () => {})]);
  await clock.advance(39);
  expect(onTimeout).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(onTimeout.mock.calls).toMatchObject([[{ code: 'CALL_TIMEOUT' }]]);
});

test('work before the turn of the agent call does not count, also if it ends after the turn began', async () => {
  const { clock, onTimeout, timeout } = setUp();
  await timeout.untimed(() => clock.advance(500));
  let end = (): void => {};
  const work = timeout.untimed(() => new Promise<void>((resolve) => (end = resolve)));
  timeout.resume();
  await clock.advance(500);
  end();
  await work;
  await clock.advance(99);
  expect(onTimeout).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(onTimeout).toHaveBeenCalledOnce();
});

test('no time counts after the end, also if work ends later', async () => {
  const { clock, onTimeout, timeout } = setUp();
  timeout.resume();
  let end = (): void => {};
  const work = timeout.untimed(() => new Promise<void>((resolve) => (end = resolve)));
  timeout.pause();
  end();
  await work;
  await clock.advance(500);
  expect(onTimeout).not.toHaveBeenCalled();
});
