import { expect, test } from 'vitest';
import { seeds } from '../../../../test/test-extent.ts';
import { newTally, runSchedule } from '../../test-support/kv-schedule.ts';

const schedules = 250;

test.for(seeds({ quick: 1, full: 8 }))(
  'two clients at two locations: nothing is lost unseen, in schedules %i × 250',
  async (block) => {
    const tally = newTally();
    for (let seed = 0; seed < schedules; seed++)
      await runSchedule(block * schedules + seed + 1, tally);
    // Each of the things that may go wrong did.
    expect(Object.entries(tally).filter(([, count]) => count < 10)).toEqual([]);
  },
);
