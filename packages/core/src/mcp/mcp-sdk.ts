import type {
  Client,
  StreamableHTTPClientTransport,
  specTypeSchemas,
} from '@modelcontextprotocol/client';
import { AgentError } from '../error/agent-error.ts';

export interface McpSdk {
  readonly Client: typeof Client;
  readonly StreamableHTTPClientTransport: typeof StreamableHTTPClientTransport;
  readonly specTypeSchemas: typeof specTypeSchemas;
}

/**
 * Loads the parts of the MCP SDK that a client needs. Throws `CONFIGURATION` if the SDK is not
 * installed.
 */
export async function loadMcpSdk(): Promise<McpSdk> {
  try {
    const { Client, StreamableHTTPClientTransport, specTypeSchemas } =
      await import('@modelcontextprotocol/client');
    return { Client, StreamableHTTPClientTransport, specTypeSchemas };
  } catch (cause) {
    const hint = 'npm install @modelcontextprotocol/client';
    throw new AgentError(
      'CONFIGURATION',
      `mcpTools() needs the package @modelcontextprotocol/client, which could not be loaded: ${hint}.`,
      { cause },
    );
  }
}
