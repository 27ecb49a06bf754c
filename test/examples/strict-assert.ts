import { afterEach, beforeEach, vi } from 'vitest';

/** Makes `console.assert` in the examples throw. */
beforeEach(() => {
  vi.spyOn(console, 'assert').mockImplementation((holds, ...about: readonly unknown[]) => {
    if (!holds) throw new Error(`An assertion of the example failed. ${about.join(' ')}`);
  });
});
afterEach(() => void vi.restoreAllMocks());
