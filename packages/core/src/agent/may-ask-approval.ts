import { toolsIn } from '../tool/set/tool-set.ts';
import type { ReActAgent } from './react-agent.ts';

/**
 * Returns whether a tool call of the agent may wait for an approval. Includes the tools of inactive
 * groups and the tools of child agents. Leaves out child agents that a factory creates later.
 */
export function mayAskApproval({ tools, use }: Pick<ReActAgent, 'tools' | 'use'>): boolean {
  return (
    use.some(({ approve, decide }) => approve || decide) ||
    toolsIn(tools).some((tool) => tool.needsApproval || tool.mayAskApproval?.())
  );
}
