import type { ToolSchema } from '../model/chat-model.ts';

/**
 * Returns the names, descriptions and schemas of the tools as text. `cache`: cache of each tool's
 * text.
 */
export function describeTools(
  tools: readonly ToolSchema[],
  cache: WeakMap<ToolSchema, string>,
): string {
  const describe = (tool: ToolSchema): string => {
    const text =
      cache.get(tool) ??
      `Tool: ${tool.name}\nDescription: ${tool.description}\nArguments: ${JSON.stringify(tool.parameters)}`;
    cache.set(tool, text);
    return text;
  };
  return tools.map(describe).join('\n\n');
}
