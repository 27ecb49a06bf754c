import type { Client, JSONRPCMessage, Tool as ServerTool } from '@modelcontextprotocol/client';
import { isRecord } from '../message/json/is-record.ts';
import type { McpSdk } from './mcp-sdk.ts';

export interface McpToolList {
  readonly tools: readonly ServerTool[];
  /** Listed items that are not valid tools, as JSON text. */
  readonly refused: readonly string[];
}

export interface McpToolLister {
  /** Reads all pages of the tool list. Returns an empty list if the server has no tools. */
  list(client: Client, timeout: number): Promise<McpToolList>;
  /**
   * Returns the message without listed items that are not valid tools. The SDK would reject the
   * whole list because of one of them.
   */
  tidy<T extends JSONRPCMessage>(message: T): T;
}

export function toolLister({ specTypeSchemas }: Pick<McpSdk, 'specTypeSchemas'>): McpToolLister {
  const refused = new Set<string>();
  const isTool = (item: ServerTool): boolean => {
    const read = specTypeSchemas.Tool['~standard'].validate(item);
    return !('issues' in read && read.issues) && item.name !== '';
  };
  return {
    async list(client, timeout) {
      refused.clear();
      if (!client.getServerCapabilities()?.tools) return { tools: [], refused: [] };
      const { tools } = await client.listTools(undefined, { timeout, cacheMode: 'refresh' });
      return { tools, refused: [...refused] };
    },
    tidy(message) {
      const result: unknown = 'result' in message ? message.result : undefined;
      if (!isRecord(result) || !Array.isArray(result['tools'])) return message;
      const { nextCursor, ...rest } = result;
      const tools = result['tools'].flatMap((item) => {
        const tool = partsOf(item) as ServerTool;
        if (isTool(tool)) return tool;
        refused.add(String(JSON.stringify(item)).slice(0, 200));
        return [];
      });
      const cursor = typeof nextCursor === 'string' && { nextCursor };
      return { ...message, result: { ...rest, ...cursor, tools } };
    },
  };
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
