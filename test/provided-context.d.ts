import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether tests run all random cases and all fault points, as in `npm run test:long`. */
    long: boolean;
    /** How long the check of `left-behind` waits for things that still end, in milliseconds. */
    leftBehindLimitMs: number;
    /** WebSocket address of the Chromium that the end-to-end tests share. */
    browserEndpoint: string;
    /** Address of the demo in the end-to-end tests. */
    demoUrl: string;
    /** Address of the pages and of the endpoint in `e2e/chat`. */
    chatUrl: string;
    /**
     * Address of the model that pauses during its answers in the end-to-end tests. See
     * `e2e/held-model.ts`.
     */
    heldModelUrl: string;
  }
}
