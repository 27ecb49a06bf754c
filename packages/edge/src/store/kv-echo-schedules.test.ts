import { expect, test } from 'vitest';
import { seeds } from '../../../../test/test-extent.ts';
import { newTally, runSchedule } from '../../test-support/kv-schedule.ts';

const schedules = 250;

test.for(seeds({ quick: 1, full: 8 }))(
  'two clients at two locations lose nothing unnoticed, in schedules %i × 250',
  async (block) => {
    const tally = newTally();
    for (let seed = 0; seed < schedules; seed++)
      await runSchedule(block * schedules + seed + 1, tally);
    // Each kind of event must happen ten times or more, or the schedules test too little.
    expect(Object.entries(tally).filter(([, count]) => count < 10)).toEqual([]);
  },
);
