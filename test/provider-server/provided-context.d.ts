import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the provider server: `http://127.0.0.1:PORT`. */
    providerUrl: string;
  }
}
