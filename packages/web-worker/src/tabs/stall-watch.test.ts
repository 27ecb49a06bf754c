import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { nextMacrotask } from '../wire/macrotask.ts';
import { StallWatch } from './stall-watch.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

function watchSilence(): { readonly watch: StallWatch; readonly told: readonly string[] } {
  const told: string[] = [];
  const watch = new StallWatch({
    afterMs: 1000,
    isNeeded: () => true,
    ping: () => told.push('asks'),
    onStalled: () => told.push('stalled'),
  });
  watch.check();
  return { watch, told };
}

test('StallWatch asks a silent leader once, then reports the leader as stalled', async () => {
  const { told } = watchSilence();
  vi.advanceTimersByTime(500);
  expect(told).toEqual(['asks']);
  vi.advanceTimersByTime(500);
  await nextMacrotask();
  expect(told).toEqual(['asks', 'stalled']);
});

test('StallWatch counts a leader’s message that arrives during the check, before it reports a stall', async () => {
  const { watch, told } = watchSilence();
  vi.advanceTimersByTime(1000);
  watch.reset();
  await nextMacrotask();
  expect(told).toEqual(['asks']);
  vi.advanceTimersByTime(1000);
  await nextMacrotask();
  expect(told).toEqual(['asks', 'asks', 'stalled']);
});
