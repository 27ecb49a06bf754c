import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Tool as ServerTool } from '@modelcontextprotocol/sdk/types.js';
import { AgentError } from '../error/agent-error.ts';
import { isRecord } from '../message/is-record.ts';
import type { McpSdk } from './mcp-sdk.ts';

export interface McpToolList {
  readonly tools: readonly ServerTool[];
  /** Listed items that are not valid tools, as JSON text. */
  readonly refused: readonly string[];
}

const mostTools = 10_000;

/** Reads all pages of the tool list. Returns an empty list if the server has no tools. */
export async function listTools(
  sdk: McpSdk,
  client: Client,
  { timeout, server }: { readonly timeout: number; readonly server: string },
): Promise<McpToolList> {
  const wrong = (what: string): AgentError =>
    new AgentError('MCP_BAD_RESPONSE', `The MCP server "${server}" ${what}.`);
  const tools: ServerTool[] = [];
  const refused: string[] = [];
  let cursor: string | undefined;
  if (client.getServerCapabilities()?.tools) {
    do {
      const params = cursor === undefined ? {} : { cursor };
      // Does not use the SDK's schema for the list, which rejects the whole list if one tool is
      // invalid.
      const page = await client.request({ method: 'tools/list', params }, sdk.ResultSchema, {
        timeout,
      });
      const { tools: given, nextCursor } = page;
      if (!Array.isArray(given)) throw wrong('returned no list of tools');
      for (const item of given) {
        const read = sdk.ToolSchema.safeParse(partsOf(item));
        if (read.success && read.data.name) tools.push(read.data);
        else refused.push(String(JSON.stringify(item)).slice(0, 200));
      }
      cursor = typeof nextCursor === 'string' ? nextCursor : undefined;
      if (tools.length + refused.length > mostTools || (cursor !== undefined && !given.length))
        throw wrong('never ends its list of tools');
    } while (cursor !== undefined);
  }
  return { tools, refused };
}

/** Returns the fields of a tool that are used. Some servers send `null` for a missing field. */
function partsOf(item: unknown): Readonly<Record<string, unknown>> {
  const { name, title, description, inputSchema, annotations } = Object(item) as Record<
    string,
    unknown
  >;
  return {
    name,
    title: title ?? Object(annotations).title ?? undefined,
    description: description ?? undefined,
    inputSchema:
      isRecord(inputSchema) && !Array.isArray(inputSchema)
        ? { type: 'object', ...inputSchema }
        : inputSchema,
  };
}
