import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import { errorResult } from '../../tool/tool-result.ts';
import type { Run } from '../run/run.ts';

/**
 * Makes the agent call fail because of a tool call. Returns the result of the tool call for the
 * model. `message` must not quote an exception that did not come from the tool.
 */
export function failCall(run: Run, toolUse: ToolUse, error: unknown, message: string): ToolResult {
  run.fail(error);
  return errorResult(toolUse, message);
}
