import type { ContentBlock, ToolResult, ToolResultState, ToolUse } from '../message/content-block.ts';
import type { ToolContent, ToolOutput } from './tool.ts';

export function toolResult(toolUse: ToolUse, output: string | readonly ContentBlock[], state: ToolResultState): ToolResult {
  return { type: 'tool_result', toolUseId: toolUse.id, name: toolUse.name, output, state };
}

/** An error as the model sees it; the prefix is AgentScope's and Arc Reactor's. */
export function errorResult(toolUse: ToolUse, message: string): ToolResult {
  return toolResult(toolUse, `Error: ${message}`, 'error');
}

export function deniedResult(toolUse: ToolUse, reason: string): ToolResult {
  return toolResult(toolUse, `Tool call rejected: ${reason}`, 'denied');
}

export function interruptedResult(toolUse: ToolUse): ToolResult {
  return toolResult(toolUse, 'The call was interrupted before it finished; its effect is unknown.', 'interrupted');
}

/** What a tool returned, as the model gets it. Throws where it has no JSON form (a cycle, a bigint). */
export function outputResult(toolUse: ToolUse, output: ToolOutput): ToolResult {
  if (typeof output === 'string') return toolResult(toolUse, output, 'success');
  if (isToolContent(output)) return toolResult(toolUse, output.content, 'success');
  return toolResult(toolUse, output === undefined ? '' : JSON.stringify(output), 'success');
}

function isToolContent(output: ToolOutput): output is ToolContent {
  if (typeof output !== 'object' || output === null || !('content' in output) || !Array.isArray(output.content)) return false;
  return output.content.length > 0 && output.content.every((block) => isBlock(block));
}

function isBlock(value: unknown): value is ContentBlock {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  return value.type === 'text' ? 'text' in value : 'source' in value && ['image', 'audio', 'video', 'file'].includes(String(value.type));
}
