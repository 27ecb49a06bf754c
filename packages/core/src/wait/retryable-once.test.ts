import { expect, test } from 'vitest';
import { retryableOnce } from './retryable-once.ts';

test('calls share one attempt, a value is kept, and a failure is not', async () => {
  let attempts = 0;
  const open = retryableOnce(async () => {
    attempts += 1;
    await Promise.resolve();
    if (attempts < 3) throw new Error(`no ${attempts}`);
    return attempts;
  });
  for (const message of ['no 1', 'no 2']) {
    const failures = [open(), open(), open()].map((opened) => opened.catch(String));
    expect(await Promise.all(failures)).toEqual(Array(3).fill(`Error: ${message}`));
  }
  expect(await Promise.all([open(), open()])).toEqual([3, 3]);
  expect(await open()).toBe(3);
});

test('a caller that sees the failure can begin a new attempt at once', async () => {
  let attempts = 0;
  const open = retryableOnce(async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('down');
    return attempts;
  });
  expect(await open().catch(() => open())).toBe(2);
});
