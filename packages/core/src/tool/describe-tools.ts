import type { ToolSchema } from '../model/chat-model.ts';
import { memoize } from '../model/formatter.ts';

/** Returns the names, descriptions and schemas of the tools as text. */
export function describeTools(tools: readonly ToolSchema[]): string {
  return tools.map(description).join('\n\n');
}

const description = /* @__PURE__ */ memoize(
  (tool: ToolSchema) =>
    `Tool: ${tool.name}\nDescription: ${tool.description}\nArguments: ${JSON.stringify(tool.parameters)}`,
);

/** Returns whether the program has written a tool's words, so that the system prompt may have them. */
export function isOfProgram({ writer }: ToolSchema): boolean {
  return writer !== 'client';
}
