/**
 * Functions of a test framework that the conformance suites use. Your test file passes them in:
 * `import * as vitest from 'vitest'`. Jest and `bun:test` have them, too.
 */
export interface TestFramework {
  describe(name: string, tests: () => void): unknown;
  test(title: string, run: () => Promise<void>): unknown;
  expect(value: unknown): Expectation;
}

interface Expectation {
  toBe(expected: unknown): unknown;
  toBeGreaterThan(expected: number): unknown;
  toBeUndefined(): unknown;
  toEqual(expected: unknown): unknown;
}
