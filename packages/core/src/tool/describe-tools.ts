import type { ToolSchema } from '../model/chat-model.ts';
import { memoize } from '../model/formatter/formatter.ts';

/** Returns the names, descriptions and schemas of the tools as text. */
export function describeTools(tools: readonly ToolSchema[]): string {
  return tools.map(description).join('\n\n');
}

const description = /* @__PURE__ */ memoize(
  (tool: ToolSchema) =>
    `Tool: ${tool.name}\nDescription: ${tool.description}\nArguments: ${JSON.stringify(tool.parameters)}`,
);

/** Returns whether the program wrote a tool's schema. The system prompt may have only its words. */
export function isOfProgram({ origin }: ToolSchema): boolean {
  return origin !== 'client';
}
