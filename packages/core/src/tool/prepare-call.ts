import type { ToolResult, ToolUse } from '../message/content-block.ts';
import type { Validation } from '../schema/schema.ts';
import { errorResult } from './tool-result.ts';
import type { Tool } from './tool.ts';
import type { ToolSet } from './tool-set.ts';

/** Call whose tool exists and whose arguments passed the schema. */
export interface ReadyCall {
  readonly ok: true;
  readonly tool: Tool;
  readonly toolUse: ToolUse;
  readonly input: unknown;
  /**
   * Whether the call still needs approval; a string gives the reason. If so, middleware with
   * `decide` is asked.
   */
  readonly needs?: boolean | string;
}

/** Checks whether a call can run. If not, returns the result to show the model. */
export async function prepareCall(
  tools: ToolSet,
  toolUse: ToolUse,
): Promise<ReadyCall | { readonly ok: false; readonly result: ToolResult }> {
  const { name, input, raw } = toolUse;
  const refuse = (reason: string) => ({ ok: false, result: errorResult(toolUse, reason) }) as const;
  const tool =
    tools.find(name) ??
    `Tool not found: ${name}. Available: ${
      tools
        .schemas()
        .map((schema) => schema.name)
        .join(', ') || 'none'
    }.`;
  if (typeof tool === 'string') return refuse(tool);
  const checked: Validation<unknown> =
    input === null && raw
      ? { ok: false, issues: ['they are not valid JSON'] }
      : await tool.input.validate(input);
  if (checked.ok) return { ok: true, tool, toolUse, input: checked.value };
  const issues = checked.issues.map((issue) => `- ${issue}`).join('\n');
  return refuse(`The arguments of "${name}" do not fit its schema:\n${issues}\nCorrect them.`);
}
