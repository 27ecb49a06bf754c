import { AgentError } from '../../error/agent-error.ts';
import type { CallState } from '../../event/call-state.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import type { ToolUse } from '../../message/content-block.ts';

const waits: Readonly<Record<PendingCall['kind'], string>> = {
  approval: 'waits for approval',
  external: 'waits for its result',
  suspended: 'is suspended',
  replay: 'waits for a decision whether it runs again',
};

/** Returns the error for a new message that came before the open calls had their results. */
export function pendingCallsError(
  open: readonly ToolUse[],
  calls: ReadonlyMap<string, CallState>,
): AgentError {
  const names = open.map(({ id, name }) => {
    const { pending } = calls.get(id) ?? {};
    return `"${name}" (${id}) ${pending ? waits[pending.kind] : 'did not finish'}`;
  });
  const advice = 'Before a new message, send their decisions or results, or continue the run.';
  return new AgentError(
    'PENDING_TOOL_CALLS',
    `Tool calls are open: ${names.join(', ')}. ${advice}`,
    {
      details: { ids: open.map(({ id }) => id) },
    },
  );
}
