import { beforeEach, expect, test } from 'vitest';
import { nextMacrotask } from '../wire/macrotask.ts';
import { StallWatch } from './stall-watch.ts';
import { fakeClock, type FakeClock } from '@test/clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));

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
  clock.advanceSync(500);
  expect(told).toEqual(['asks']);
  clock.advanceSync(500);
  await nextMacrotask();
  expect(told).toEqual(['asks', 'stalled']);
});

test('StallWatch counts a leader’s message that arrives during the check, before it reports a stall', async () => {
  const { watch, told } = watchSilence();
  clock.advanceSync(1000);
  watch.reset();
  await nextMacrotask();
  expect(told).toEqual(['asks']);
  clock.advanceSync(1000);
  await nextMacrotask();
  expect(told).toEqual(['asks', 'asks', 'stalled']);
});

test.each([3_600_000, -3_600_000])(
  'StallWatch gives a leader its time if the date jumps by %i ms',
  async (jumpMs) => {
    const { told } = watchSilence();
    clock.advanceSync(499);
    clock.jumpDate(jumpMs);
    expect(told).toEqual([]);
    clock.advanceSync(1);
    expect(told).toEqual(['asks']);
    clock.jumpDate(jumpMs);
    clock.advanceSync(499);
    expect(told).toEqual(['asks']);
    clock.advanceSync(1);
    await nextMacrotask();
    expect(told).toEqual(['asks', 'stalled']);
  },
);
