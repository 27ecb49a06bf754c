import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** True in `npm run test:long`: tests run all random cases and all fault points. */
    long: boolean;
    /** End to end: the WebSocket address of the shared Chromium. */
    browserEndpoint: string;
    /** End to end: the address of the demo, with the offline model. */
    demoUrl: string;
  }
}
