import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** True in `npm run test:long`: tests run all random cases and all fault points. */
    long: boolean;
    /** End to end: the WebSocket address of the shared Chromium. */
    browserEndpoint: string;
    /** End to end: the address of the demo. */
    demoUrl: string;
    /**
     * End to end: the address of the model that stops in the middle of an answer, see
     * `e2e/held-model.ts`.
     */
    heldModelUrl: string;
  }
}
