import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the MCP servers: `http://127.0.0.1:PORT`. */
    mcpUrl: string;
  }
}
