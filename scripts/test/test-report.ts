/**
 * A message that a running Vitest project sends to `npm test` over the IPC channel of its process.
 */
export type TestReport =
  | { readonly type: 'files'; readonly count: number }
  | { readonly type: 'file-start' | 'file-end'; readonly file: string }
  | { readonly type: 'test-start'; readonly file: string; readonly name: string }
  | {
      readonly type: 'test-end';
      readonly file: string;
      readonly name: string;
      readonly state: 'passed' | 'failed' | 'skipped';
    }
  /**
   * An error outside a test, such as a file that does not load, a hook that fails or an unhandled
   * rejection.
   */
  | { readonly type: 'stray-error' }
  /** Text to print, such as the diff of a failed test. */
  | { readonly type: 'output'; readonly text: string };
