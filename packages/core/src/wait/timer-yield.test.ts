import { expect, test, vi } from 'vitest';
import { TimerYield } from './timer-yield.ts';

test('runs that let timers run at the same time share one task of the event loop', () => {
  let channels = 0;
  class CountedChannel extends MessageChannel {
    constructor() {
      super();
      channels += 1;
    }
  }
  vi.stubGlobal('MessageChannel', CountedChannel);
  // In Cloudflare Workers, runs must not share a task.
  vi.stubGlobal('navigator', undefined);
  for (let run = 0; run < 3; run++) new TimerYield(0).tick(20);
  expect(channels).toBe(1);
});
