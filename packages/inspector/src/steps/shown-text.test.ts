import { expect, test } from 'vitest';
import { duration } from './shown-text.ts';

test.each([
  [undefined, ''],
  [0, '0 ms'],
  [1_234, '1.23 s'],
  [90_000, '1.5 min'],
  // The times of events are dates, and the date was set back by an hour.
  [-3_599_900, ''],
])('a duration of %s ms is shown as "%s"', (ms, text) => {
  expect(duration(ms)).toBe(text);
});
