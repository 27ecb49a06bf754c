import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether `npm run test:long` runs: every point and every random case. */
    long: boolean;
    /** End to end: the WebSocket address of the shared Chromium. */
    browserEndpoint: string;
    /** End to end: the address of the demo, with the offline model. */
    demoUrl: string;
  }
}
