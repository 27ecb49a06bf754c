import type { describe, expect, test } from 'vitest';

/**
 * The parts of vitest that a test file uses. Tests pass them to the conformance suites, so that
 * this entry loads without vitest.
 */
export interface TestFramework {
  readonly describe: typeof describe;
  readonly expect: typeof expect;
  readonly test: typeof test;
}
