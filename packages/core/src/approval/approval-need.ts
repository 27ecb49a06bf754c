import type { OpenCall, Run } from '../agent/middleware.ts';
import type { Awaitable } from '../event/hook.ts';
import { type ReadyCall, prepareCall } from '../tool/tool-call.ts';

/**
 * Why a tool call needs an approval: a text for the person who decides, or `true` without one.
 * `false`: it needs none.
 */
export type ApprovalReason = string | boolean;

/** Returns why a tool call needs an approval. */
export type ReasonFor = (call: ReadyCall, run: Run) => Awaitable<ApprovalReason>;

/** Same as `ReasonFor`, but asks the tool itself. A tool gives no text for the person. */
export function reasonOfTool({ tool, input, toolUse }: ReadyCall): Awaitable<boolean> {
  const { needsApproval = false } = tool;
  if (typeof needsApproval === 'boolean') return needsApproval;
  const ask = async (): Promise<boolean> => needsApproval(input, toolUse);
  return ask();
}

/** Returns whether a tool call still needs an approval. Runs no hooks. */
export async function isUndecided(
  { toolUse, state, result }: OpenCall,
  run: Run,
  reasonFor: ReasonFor,
): Promise<boolean> {
  if (state.decision || state.approved || result) return false;
  if (state.pending) return state.pending.kind === 'approval';
  try {
    const call = await prepareCall(run.tools.current, toolUse);
    return call.ok && Boolean(await reasonFor(call, run));
  } catch {
    // The call fails with this error when it runs.
    return false;
  }
}
