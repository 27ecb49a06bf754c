import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type {
  CallToolResultSchema,
  ResultSchema,
  ToolListChangedNotificationSchema,
  ToolSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { AgentError } from '../error/agent-error.ts';

export interface McpSdk {
  readonly Client: typeof Client;
  readonly StreamableHTTPClientTransport: typeof StreamableHTTPClientTransport;
  readonly CallToolResultSchema: typeof CallToolResultSchema;
  readonly ResultSchema: typeof ResultSchema;
  readonly ToolListChangedNotificationSchema: typeof ToolListChangedNotificationSchema;
  readonly ToolSchema: typeof ToolSchema;
}

/**
 * Loads the parts of the MCP SDK that a client needs. Throws `CONFIGURATION` if the SDK is not
 * installed.
 */
export async function loadMcpSdk(): Promise<McpSdk> {
  try {
    const [{ Client }, { StreamableHTTPClientTransport }, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    const { CallToolResultSchema, ResultSchema, ToolListChangedNotificationSchema, ToolSchema } =
      types;
    return {
      Client,
      StreamableHTTPClientTransport,
      CallToolResultSchema,
      ResultSchema,
      ToolListChangedNotificationSchema,
      ToolSchema,
    };
  } catch (cause) {
    const hint = 'npm install @modelcontextprotocol/sdk';
    throw new AgentError(
      'CONFIGURATION',
      `mcpTools() needs the package @modelcontextprotocol/sdk, which could not be loaded: ${hint}.`,
      {
        cause,
      },
    );
  }
}
