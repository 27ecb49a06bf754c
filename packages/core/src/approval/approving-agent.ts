import type { Agent } from '../agent/agent.ts';
import type { Middleware } from '../agent/middleware.ts';
import { toolsIn } from '../tool/set/tool-set.ts';

/** Middleware `approvals()`. */
export interface ApprovalMiddleware extends Middleware {
  readonly isApprovals: true;
  /** Whether it may ask for approvals that the tools themselves do not need. */
  readonly mayAsk: boolean;
}

/** Returns whether a middleware is `approvals()`, which also defers rounds and asks by rules. */
export function isApprovals(middleware: Middleware): middleware is ApprovalMiddleware {
  return 'isApprovals' in middleware;
}

/**
 * Returns whether a tool call of the agent may wait for an approval. Includes the tools of inactive
 * groups and the tools of child agents. Leaves out child agents that a factory creates later.
 */
export function mayAskForApproval({ tools, use }: Pick<Agent, 'tools' | 'use'>): boolean {
  return (
    use.some((one) => isApprovals(one) && one.mayAsk) ||
    toolsIn(tools).some((tool) => tool.needsApproval || tool.mayNeedApproval?.())
  );
}
