import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the MCP servers listen: `http://127.0.0.1:PORT`. */
    mcpUrl: string;
  }
}
