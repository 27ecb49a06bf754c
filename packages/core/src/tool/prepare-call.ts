import type { ToolResult, ToolUse } from '../message/content-block.ts';
import type { Validation } from '../schema/schema.ts';
import type { Tool } from './tool.ts';
import { errorResult } from './tool-result.ts';
import type { Toolkit } from './toolkit.ts';

export type PreparedCall =
  | { readonly ok: true; readonly tool: Tool; readonly toolUse: ToolUse; readonly input: unknown }
  | { readonly ok: false; readonly toolUse: ToolUse; readonly result: ToolResult };

/** Whether a call can run: the tool exists and its arguments are JSON that passes the schema. If not, what to tell the model. */
export async function prepareCall(toolkit: Toolkit, toolUse: ToolUse): Promise<PreparedCall> {
  const { name, input, raw } = toolUse;
  const tool = toolkit.get(name);
  if (!tool) return refuse(toolUse, `Tool not found: ${name}. ${available(toolkit)}`);
  const checked: Validation<unknown> =
    input === null && raw ? { ok: false, issues: ['they are not valid JSON'] } : await tool.input.validate(input);
  if (checked.ok) return { ok: true, tool, toolUse, input: checked.value };
  const issues = checked.issues.map((issue) => `- ${issue}`).join('\n');
  return refuse(toolUse, `The arguments of "${name}" do not fit its schema:\n${issues}\nCorrect them.`);
}

function refuse(toolUse: ToolUse, reason: string): PreparedCall {
  return { ok: false, toolUse, result: errorResult(toolUse, reason) };
}

function available(toolkit: Toolkit): string {
  const names = toolkit.schemas().map((schema) => schema.name);
  return `Available: ${names.join(', ') || 'none'}.`;
}
