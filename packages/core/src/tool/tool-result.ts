import type { CallState } from '../event/call-state.ts';
import type {
  ContentBlock,
  ToolResult,
  ToolResultState,
  ToolUse,
} from '../message/content-block.ts';
import { isBlock } from '../message/is-block.ts';
import { isRecord } from '../message/is-record.ts';
import type { ToolContent, ToolOutput } from './tool.ts';

export function toolResult(
  toolUse: ToolUse,
  output: string | readonly ContentBlock[],
  state: ToolResultState,
): ToolResult {
  return { type: 'tool_result', toolUseId: toolUse.id, name: toolUse.name, output, state };
}

/** Returns an error as the model sees it; the prefix is AgentScope's and Arc Reactor's. */
export function errorResult(toolUse: ToolUse, message: string): ToolResult {
  return toolResult(toolUse, `Error: ${message}`, 'error');
}

export function deniedResult(toolUse: ToolUse, reason = 'no reason given'): ToolResult {
  return toolResult(toolUse, `Tool call rejected: ${reason}`, 'denied');
}

/**
 * Returns the result of an interrupted call. Without a `state`, it is unknown how far the call
 * came.
 */
export function interruptedResult(toolUse: ToolUse, state?: CallState): ToolResult {
  return toolResult(
    toolUse,
    `Interrupted before it ${mayHaveStarted(state) ? 'finished; its effect is unknown' : 'ran'}.`,
    'interrupted',
  );
}

/**
 * Returns whether a call may have started. Without a state, another host ran the call. A pending
 * call has started here or elsewhere, unless it waits for approval.
 */
export function mayHaveStarted(state: CallState | undefined): boolean {
  return !state || !!state.started || (state.pending?.kind ?? 'approval') !== 'approval';
}

/**
 * Returns a tool's output as the model gets it. Throws if it has no JSON form (a cycle, a bigint).
 */
export function outputResult(toolUse: ToolUse, output: ToolOutput): ToolResult {
  if (isToolContent(output)) return toolResult(toolUse, output.content, 'success');
  return toolResult(
    toolUse,
    typeof output === 'string' ? output : (JSON.stringify(output) ?? ''),
    'success',
  );
}

function isToolContent(output: unknown): output is ToolContent {
  const content = isRecord(output) && output['content'];
  return Array.isArray(content) && content.length > 0 && content.every(isBlock);
}
