import type { describe, expect, test } from 'vitest';

/**
 * Vitest, or what a test file takes of it; given to the conformance suites, so that this entry
 * loads where vitest is not.
 */
export interface TestFramework {
  readonly describe: typeof describe;
  readonly expect: typeof expect;
  readonly test: typeof test;
}
