import { expect, onTestFinished, test, vi } from 'vitest';
import { fakeClock } from '@test/clock/fake-clock.ts';
import { liveRun } from '@test/support/live-run.ts';
import { RunClock } from './run-clock.ts';

test('the time limit ends the run with CALL_TIMEOUT, and counts from resume() on', async () => {
  const clock = fakeClock();
  const { options } = liveRun({ limits: { timeoutMs: 100 } }).live;
  const onTimeout = vi.fn();
  const { timeout } = new RunClock(
    { ...options, monotonicNow: () => performance.now() },
    onTimeout,
  );
  onTestFinished(() => timeout.pause());
  await clock.advance(1000);
  timeout.resume();
  await clock.advance(99);
  expect(onTimeout).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(onTimeout).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ code: 'CALL_TIMEOUT' }),
  );
});

test('the run begins when its clock is made, by the clock for durations', () => {
  const { clock } = liveRun({ now: () => 5, monotonicNow: () => 7 }).live;
  expect(clock.startedAt).toBe(7);
  expect(clock.now()).toBe(5);
});

test('tick() returns a promise only after much work without a pause', async () => {
  const { clock } = liveRun().live;
  expect(clock.tick(25)).toBeUndefined();
  const pauses = Array.from({ length: 10 }, () => clock.tick(4000));
  expect(pauses.some((pause) => pause instanceof Promise)).toBe(true);
  await Promise.all(pauses);
});
