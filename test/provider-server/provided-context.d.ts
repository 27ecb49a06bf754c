import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the provider server listens: `http://127.0.0.1:PORT`. */
    providerUrl: string;
  }
}
