import type { describe, expect, test } from 'vitest';

/**
 * Functions of vitest that the conformance suites use. Your test file passes them in, so that
 * `@isoloop/core/testing` loads without vitest.
 */
export interface TestFramework {
  readonly describe: typeof describe;
  readonly expect: typeof expect;
  readonly test: typeof test;
}
