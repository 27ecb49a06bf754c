import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether `npm run test:long` runs: every point and every random case. */
    long: boolean;
  }
}
