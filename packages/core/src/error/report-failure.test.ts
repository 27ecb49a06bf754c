import { expect, onTestFinished, test, vi } from 'vitest';
import { logText } from './log-text.ts';
import { callListener, reportFailure } from './report-failure.ts';

/** Returns what the console gets. */
function warnings(): readonly unknown[][] {
  const log = vi.spyOn(console, 'warn').mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
  return log.mock.calls;
}

const failure = new Error('The guard broke.');
const own = new Error('The listener broke.');

const failing: readonly ((error: unknown) => void)[] = [
  () => {
    throw own;
  },
  () => Promise.reject(own),
];

test.for(failing)(
  'a listener that fails itself does not hide the failure (%#)',
  async (listener) => {
    const lines = warnings();
    reportFailure('Guard failed:', listener, failure);
    await Promise.resolve();
    expect(lines).toEqual([
      ['Guard failed:', logText(failure)],
      ['Guard failed:', logText(own)],
    ]);
  },
);

test('a failure that a listener throws again is shown once', () => {
  const lines = warnings();
  const rethrow = (error: unknown): void => {
    throw error;
  };
  reportFailure('Guard failed:', rethrow, failure);
  expect(lines).toEqual([['Guard failed:', logText(failure)]]);
});

test('the error of a listener for something else than a failure is shown alone', async () => {
  const lines = warnings();
  callListener((_count: number) => Promise.reject(own), 5);
  await Promise.resolve();
  expect(lines).toEqual([['A listener failed.', logText(own)]]);
});
