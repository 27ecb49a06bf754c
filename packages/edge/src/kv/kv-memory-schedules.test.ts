import { expect, test } from 'vitest';
import { seeds } from '@test/test-extent.ts';
import { newTally, runSchedule } from '../../test-support/kv-schedule.ts';

const schedules = 250;

test.for(seeds({ quick: 1, full: 8 }))(
  'two clients at two locations lose no message without an error, in block %i of 250 random schedules',
  async (block) => {
    const tally = newTally();
    for (let seed = 0; seed < schedules; seed++)
      await runSchedule(block * schedules + seed + 1, tally);
    // If a kind of event happens less than ten times, the schedules test too little.
    expect(Object.entries(tally).filter(([, count]) => count < 10)).toEqual([]);
  },
);
