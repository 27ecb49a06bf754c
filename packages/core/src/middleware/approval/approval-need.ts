import type { Agent } from '../../agent/agent.ts';
import type { Middleware, OpenCall, RunContext } from '../../agent/middleware.ts';
import type { Awaitable } from '../../event/hook.ts';
import { type ReadyCall, prepareCall } from '../../tool/tool-call.ts';
import { toolsIn } from '../../tool/set/tool-set.ts';

/**
 * Why a tool call needs an approval: a text for the person who decides, or `true` without one.
 * `false`: it needs none.
 */
export type ApprovalReason = string | boolean;

/** Returns why a tool call needs an approval. */
export type ReasonFor = (call: ReadyCall, context: RunContext) => Awaitable<ApprovalReason>;

/** Returns whether the tool itself asks for an approval. Its reason has no text. */
export function reasonOfTool({ tool, input, toolUse }: ReadyCall): Awaitable<boolean> {
  const { needsApproval = false } = tool;
  if (typeof needsApproval === 'boolean') return needsApproval;
  const ask = async (): Promise<boolean> => needsApproval(input, toolUse);
  return ask();
}

/** Returns whether a tool call still needs an approval. Runs no hooks. */
export async function isUndecided(
  { toolUse, state, result }: OpenCall,
  context: RunContext,
  reasonFor: ReasonFor,
): Promise<boolean> {
  if (state.decision || state.approved || result) return false;
  if (state.pending) return state.pending.kind === 'approval';
  try {
    const call = await prepareCall(context.tools, toolUse);
    return call.ok && Boolean(await reasonFor(call, context));
  } catch {
    // The call fails with this error when it runs.
    return false;
  }
}

/** Returns a tool call as one that has not started, unless the log says whether it has. */
export function withoutStart(call: OpenCall): OpenCall {
  return call.isNoted ? call : { ...call, state: { ...call.state, started: false } };
}

/** Middleware `approvals()`. */
export interface ApprovalMiddleware extends Middleware {
  readonly isApprovals: true;
  /** Whether it may ask for approvals that the tools themselves do not need. */
  readonly mayAsk: boolean;
}

/** Returns whether a middleware is `approvals()`, which also defers rounds and asks by rules. */
export function isApprovals(part: Middleware): part is ApprovalMiddleware {
  return 'isApprovals' in part;
}

/**
 * Returns whether a tool call of the agent may wait for an approval. Includes the tools of inactive
 * groups and the tools of child agents. Leaves out child agents that a factory creates later.
 */
export function mayNeedApproval({ tools, use }: Pick<Agent, 'tools' | 'use'>): boolean {
  return (
    use.some((part) => isApprovals(part) && part.mayAsk) ||
    toolsIn(tools).some((tool) => tool.needsApproval || tool.mayNeedApproval?.())
  );
}
