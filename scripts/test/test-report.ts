/** One message of a running Vitest project to `npm test`, sent over the process's IPC channel. */
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
   * An error outside a test: a file that does not load, a hook that fails, an unhandled rejection.
   */
  | { readonly type: 'stray-error' }
  /** Text for the reader, such as a failing test's diff. */
  | { readonly type: 'output'; readonly text: string };
