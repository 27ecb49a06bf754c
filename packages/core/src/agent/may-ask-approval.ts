import { toolsIn } from '../tool/tools-in.ts';
import type { ReActAgent } from './react-agent.ts';

/**
 * Returns whether a tool call of the agent may wait for an approval, as far as this is known before
 * a run. Also counts tools of groups that are switched off, and agents that are tools. An agent that
 * a factory creates later is not known yet.
 */
export function mayAskApproval({ tools, use }: Pick<ReActAgent, 'tools' | 'use'>): boolean {
  return (
    use.some(({ approve, decide }) => approve || decide) ||
    toolsIn(tools).some((tool) => tool.needsApproval || tool.mayAskApproval?.())
  );
}
