import { afterEach, beforeEach, vi } from 'vitest';

/** What an example says with `console.assert` has to hold. */
beforeEach(() => {
  vi.spyOn(console, 'assert').mockImplementation((holds, ...about: readonly unknown[]) => {
    if (!holds) throw new Error(`An assertion of the example does not hold. ${about.join(' ')}`);
  });
});
afterEach(() => void vi.restoreAllMocks());
