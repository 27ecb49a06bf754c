import type {
  Client,
  JSONRPCMessage,
  Tool as ServerTool,
  specTypeSchemas,
} from '@modelcontextprotocol/client';
import { isObject, isRecord } from '../message/json.ts';

export interface McpToolList {
  readonly tools: readonly ServerTool[];
  /** Listed items that are not valid tools, as JSON text. */
  readonly refused: readonly string[];
}

/** Lists the tools of a server, without listed items that are not valid tools. */
export class ToolLister {
  readonly #schemas: typeof specTypeSchemas;
  readonly #refused = new Set<string>();

  constructor(schemas: typeof specTypeSchemas) {
    this.#schemas = schemas;
  }

  /** Reads all pages of the tool list. Returns an empty list if the server has no tools. */
  async list(client: Client, timeout: number): Promise<McpToolList> {
    this.#refused.clear();
    if (!client.getServerCapabilities()?.tools) return { tools: [], refused: [] };
    const { tools } = await client.listTools(undefined, { timeout, cacheMode: 'refresh' });
    return { tools, refused: [...this.#refused] };
  }

  /**
   * Returns the message without listed items that are not valid tools. The SDK would reject the
   * whole list because of one of them.
   */
  tidy<T extends JSONRPCMessage>(message: T): T {
    const result: unknown = 'result' in message ? message.result : undefined;
    if (!isRecord(result) || !Array.isArray(result['tools'])) return message;
    const { nextCursor, ...rest } = result;
    const tools = result['tools'].flatMap((item) => this.#read(item) ?? []);
    const cursor = typeof nextCursor === 'string' && { nextCursor };
    return { ...message, result: { ...rest, ...cursor, tools } };
  }

  #read(item: unknown): ServerTool | undefined {
    const tool = partsOf(item) as ServerTool;
    const read = this.#schemas.Tool['~standard'].validate(tool);
    if (!('issues' in read && read.issues) && tool.name !== '') return tool;
    this.#refused.add(String(JSON.stringify(item)).slice(0, 200));
    return undefined;
  }
}

/** Returns the fields of a tool that are used. Some servers send `null` for a missing field. */
function partsOf(item: unknown): Readonly<Record<string, unknown>> {
  const given = Object(item) as Readonly<Record<string, unknown>>;
  const { name, title, description, inputSchema, annotations } = given;
  return {
    name,
    title: title ?? Object(annotations).title ?? undefined,
    description: description ?? undefined,
    inputSchema: isObject(inputSchema) ? { type: 'object', ...inputSchema } : inputSchema,
  };
}
