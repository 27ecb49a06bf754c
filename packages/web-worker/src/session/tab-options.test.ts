import { expect, test } from 'vitest';
import { tabSettings, type TabsOptions } from './tab-options.ts';

test('toTabs() fills in defaults, keeps given values, and returns undefined for false', () => {
  expect(tabSettings()).toEqual({ scope: 'isoloop', attempts: 3, stalledAfterMs: 10_000 });
  expect(tabSettings({ scope: 'app', attempts: 0, stalledAfterMs: 1 })).toEqual({
    scope: 'app',
    attempts: 0,
    stalledAfterMs: 1,
  });
  expect(tabSettings(false)).toBeUndefined();
});

test.for([
  true,
  null,
  'app',
  { scope: 7 },
  { attempts: -1 },
  { attempts: 1.5 },
  { stalledAfterMs: 0 },
  { stalledAfterMs: Number.NaN },
  { stalledAfterMs: Infinity },
])('toTabs() rejects %o', (options) => {
  expect(() => tabSettings(options as TabsOptions)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});
