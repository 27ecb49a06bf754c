import type * as sdk from '@modelcontextprotocol/client';
import { AgentError, type JsonObject, tool, type Tool } from '@isoloop/core';
import { fieldsOf } from '@isoloop/core/error';
import { checkFields, func, object } from '@isoloop/core/options';
import { isRecord, omitUndefined } from '@isoloop/core/message';
import { parametersIssue, toolNameOf } from '@isoloop/core/model';
import type { StandardSchema } from '@isoloop/core/schema';
import type { McpToolsOptions } from './mcp-options.ts';

type ServerTool = sdk.Tool;

export interface McpToolList {
  readonly tools: readonly ServerTool[];
  /** Listed items that are not valid tools, as JSON text. */
  readonly refused: readonly string[];
}

/** Lists the tools of a server, without listed items that are not valid tools. */
export class ToolLister {
  readonly #schemas: typeof sdk.specTypeSchemas;
  readonly #refused = new Set<string>();

  constructor(schemas: typeof sdk.specTypeSchemas) {
    this.#schemas = schemas;
  }

  /** Reads all pages of the tool list. Returns an empty list if the server has no tools. */
  async list(client: sdk.Client, timeout: number): Promise<McpToolList> {
    this.#refused.clear();
    if (!client.getServerCapabilities()?.tools) return { tools: [], refused: [] };
    const { tools } = await client.listTools(undefined, { timeout, cacheMode: 'refresh' });
    // A tool may be on two pages, for example because the list grew between the requests.
    const names = new Set<string>();
    const isNew = ({ name }: ServerTool): boolean => !names.has(name) && names.add(name).has(name);
    return { tools: tools.filter(isNew), refused: [...this.#refused] };
  }

  /**
   * Returns the message without listed items that are not valid tools. The SDK would reject the
   * whole list because of one of them.
   */
  withoutInvalidTools<T extends sdk.JSONRPCMessage>(message: T): T {
    const { tools: items, nextCursor, ...rest } = fieldsOf('result' in message && message.result);
    if (!Array.isArray(items)) return message;
    const tools = items.flatMap((item) => this.#read(item) ?? []);
    const cursor = typeof nextCursor === 'string' && { nextCursor };
    return { ...message, result: { ...rest, ...cursor, tools } };
  }

  #read(item: unknown): ServerTool | undefined {
    const read = partsOf(item) as ServerTool;
    const checked = this.#schemas.Tool['~standard'].validate(read);
    const isTool = !('issues' in checked && checked.issues) && read.name !== '';
    if (isTool && !parametersIssue(read.inputSchema as JsonObject)) return read;
    this.#refused.add(String(JSON.stringify(item)).slice(0, 200));
    return undefined;
  }
}

/** Returns the fields of a tool that are used. Some servers send `null` for a missing field. */
function partsOf(item: unknown): Readonly<Record<string, unknown>> {
  const { name, title, description, inputSchema, annotations } = fieldsOf(item);
  return {
    name,
    title: title ?? fieldsOf(annotations)['title'] ?? undefined,
    description: description ?? undefined,
    inputSchema: isRecord(inputSchema) ? { type: 'object', ...inputSchema } : inputSchema,
  };
}

interface McpToolOptions extends McpToolsOptions {
  readonly server: string;
  readonly execute: NonNullable<Tool['execute']>;
  readonly report: (error: AgentError) => void;
}

/**
 * Returns the tools to offer, each with a name that model providers accept. Characters that are not
 * allowed become `_`. A number is added to a name that is already taken.
 */
export function nameTools(
  serverTools: readonly ServerTool[],
  { include, exclude = [], prefix = '' }: McpToolsOptions,
): readonly (readonly [name: string, tool: ServerTool])[] {
  const names = new Set<string>();
  const offeredTools = serverTools.filter(
    ({ name }) => (include?.includes(name) ?? true) && !exclude.includes(name),
  );
  return offeredTools.map((serverTool) => {
    const plainName = toolNameOf(`${prefix}${serverTool.name}`);
    let name = plainName;
    for (let number = 2; names.has(name); number += 1)
      name = `${plainName.slice(0, 64 - `_${number}`.length)}_${number}`;
    names.add(name);
    return [name, serverTool];
  });
}

export function toTool(name: string, serverTool: ServerTool, options: McpToolOptions): Tool {
  const { timeoutMs, group, needsApproval, replay, server, execute } = options;
  const plainTool = tool({
    name,
    description: serverTool.description ?? serverTool.title ?? '',
    input: inputOf(serverTool, options),
    server,
    execute,
    ...omitUndefined({ timeoutMs, group, needsApproval, replay }),
  });
  // The answers to the server's questions go to the server.
  return { ...plainTool, takesDecisions: true };
}

/**
 * Returns the input schema of a tool. If `schema` throws for a tool, only the server checks the
 * arguments of that tool. Other tools are not affected.
 */
function inputOf(
  { name, inputSchema }: ServerTool,
  { schema, report, server }: McpToolOptions,
): StandardSchema {
  const jsonSchema = inputSchema as JsonObject;
  try {
    if (schema) {
      const ownSchema = schema(jsonSchema);
      checkFields('mcpTools(): the result of schema()', ownSchema['~standard'], {
        validate: func,
        jsonSchema: object,
      });
      return ownSchema;
    }
  } catch (error) {
    const what = `The MCP server "${server}": \`schema\` rejects the JSON Schema of "${name}".`;
    report(new AgentError('MCP_BAD_RESPONSE', what, { cause: error }));
  }
  return {
    '~standard': {
      version: 1,
      vendor: 'mcp',
      validate: (value) =>
        isRecord(value) ? { value } : { issues: [{ message: 'they are not an object' }] },
      jsonSchema: { input: () => jsonSchema as Record<string, unknown> },
    },
  };
}
