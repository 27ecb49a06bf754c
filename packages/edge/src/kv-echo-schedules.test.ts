import { expect, test } from 'vitest';
import { newTally, runSchedule } from './kv-schedule.fixture.ts';

const blocks = 8;
const schedules = 250;

test.for(Array.from({ length: blocks }, (_, block) => [block] as const))(
  'two clients at two locations: nothing is lost unseen, in schedules %i × 250',
  { timeout: 300_000 },
  async ([block]) => {
    const tally = newTally();
    for (let seed = 0; seed < schedules; seed++) await runSchedule(block * schedules + seed + 1, tally);
    // Each of the things that may go wrong did.
    expect(Object.entries(tally).filter(([, count]) => count < 10)).toEqual([]);
  },
);
