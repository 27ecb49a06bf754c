import type { Agent } from '../../agent/agent.ts';
import { toolsIn } from '../../tool/set/tool-set.ts';
import { mayAsk } from './approvals.ts';

/**
 * Returns whether a tool call of the agent may wait for an approval. Includes the tools of inactive
 * groups and the tools of child agents. Leaves out child agents that a factory creates later.
 */
export function mayAskApproval({ tools, use }: Pick<Agent, 'tools' | 'use'>): boolean {
  return (
    use.some(mayAsk) ||
    toolsIn(tools).some((tool) => tool.needsApproval || tool.mayAskApproval?.())
  );
}
