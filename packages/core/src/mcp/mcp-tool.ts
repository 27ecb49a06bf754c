import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import { AgentError, checkFields } from '../error/agent-error.ts';
import { isObject, type JsonObject } from '../message/json.ts';
import type { StandardSchema } from '../schema/schema.ts';
import type { McpToolsOptions } from './mcp-options.ts';
import { tool, type Tool } from '../tool/tool.ts';

export interface McpToolOptions extends McpToolsOptions {
  readonly server: string;
  readonly execute: NonNullable<Tool['execute']>;
  readonly report: (error: AgentError) => void;
}

/**
 * Returns the tools to offer, each with a name that model providers accept. Characters that are not
 * allowed become `_`. A number is added to a name that is already taken.
 */
export function nameTools(
  listed: readonly ServerTool[],
  { include, exclude = [], prefix = '' }: McpToolsOptions,
): readonly (readonly [name: string, tool: ServerTool])[] {
  const taken = new Set<string>();
  const offered = listed.filter(
    ({ name }) => (include?.includes(name) ?? true) && !exclude.includes(name),
  );
  return offered.map((serverTool) => {
    const plain = `${prefix}${serverTool.name}`.replace(/[^\w-]/g, '_');
    let name = plain.slice(0, 64);
    for (let number = 2; taken.has(name); number += 1)
      name = `${plain.slice(0, 64 - `_${number}`.length)}_${number}`;
    taken.add(name);
    return [name, serverTool];
  });
}

export function toTool(name: string, serverTool: ServerTool, options: McpToolOptions): Tool {
  const { timeoutMs, group, needsApproval, replay, server, execute } = options;
  const declared = tool({
    name,
    description: serverTool.description ?? serverTool.title ?? '',
    input: inputOf(serverTool, options),
    server,
    execute: (input, context) => execute(input, context),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(group !== undefined && { group }),
    ...(needsApproval !== undefined && { needsApproval }),
    ...(replay !== undefined && { replay }),
  });
  // The answers to the server's questions go to the server.
  return { ...declared, takesDecisions: true };
}

/**
 * Returns the input schema of a tool. If `schema` throws for a tool, only the server checks the
 * arguments of that tool. Other tools are not affected.
 */
function inputOf(
  { name, inputSchema }: ServerTool,
  { schema, report, server }: McpToolOptions,
): StandardSchema {
  const given = inputSchema as JsonObject;
  try {
    if (schema) {
      const own = schema(given);
      const where = 'mcpTools(): the result of schema()';
      const fields = 'validate:function jsonSchema:object';
      checkFields(where, own['~standard'], fields);
      return own;
    }
  } catch (error) {
    const message = `The arguments of the tool "${name}" are not checked before they are sent: \`schema\` rejects its JSON Schema (MCP server "${server}").`;
    report(new AgentError('MCP_BAD_RESPONSE', message, { cause: error }));
  }
  return {
    '~standard': {
      version: 1,
      vendor: 'mcp',
      validate: (value) =>
        isObject(value) ? { value } : { issues: [{ message: 'they are not an object' }] },
      jsonSchema: { input: () => given as Record<string, unknown> },
    },
  };
}
