import { AgentError } from '../../error/agent-error.ts';
import type { CallState } from '../../event/call-state.ts';
import type { ToolUse } from '../../message/content-block.ts';

/** Returns the error for a new message that arrives while tool calls have no result. */
export function pendingCallsError(
  open: readonly ToolUse[],
  calls: ReadonlyMap<string, CallState>,
): AgentError {
  const names = open.map(
    ({ id, name }) => `"${name}" (${id}, ${calls.get(id)?.pending?.kind ?? 'unfinished'})`,
  );
  const message = `Tool calls wait for their results: ${names.join(', ')}. Send decisions or results for them first, or continue the run.`;
  return new AgentError('PENDING_TOOL_CALLS', message, {
    details: { ids: open.map(({ id }) => id) },
  });
}
