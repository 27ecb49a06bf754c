import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Points of each scenario to kill a host at; 0: as many as every run of the tests can afford. */
    faultPoints: number;
  }
}
