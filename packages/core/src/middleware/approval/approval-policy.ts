import type { Agent } from '../../agent/agent.ts';
import type { Middleware, OpenCall } from '../../agent/middleware.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Awaitable } from '../../event/hook.ts';
import { prepareCall, type ReadyCall } from '../../tool/tool-call.ts';
import { toolsIn } from '../../tool/set/tool-set.ts';

/**
 * Returns whether a tool call needs an approval; a text is the reason for the person who decides.
 */
export type NeedsApproval = (call: ReadyCall, context: RunContext) => Awaitable<boolean | string>;

/** Middleware that decides when tool calls need an approval. */
export interface Approving extends Middleware {
  /** Whether it may ask for an approval that the tool itself does not need. */
  readonly mayAsk: boolean;
}

/** Returns whether the tool itself says that a call needs an approval. */
export function toolNeeds({ tool, input, toolUse }: ReadyCall): Awaitable<boolean> {
  const { needsApproval = false } = tool;
  if (typeof needsApproval === 'boolean') return needsApproval;
  const ask = async (): Promise<boolean> => needsApproval(input, toolUse);
  return ask();
}

/** Returns whether a tool call still needs an approval. Runs no hooks. */
export async function isUndecided(
  { toolUse, state, result }: OpenCall,
  context: RunContext,
  needs: NeedsApproval,
): Promise<boolean> {
  if (state.decision || state.approved || result) return false;
  if (state.pending) return state.pending.kind === 'approval';
  try {
    const call = await prepareCall(context.tools, toolUse);
    return call.ok && Boolean(await needs(call, context));
  } catch {
    // The call fails with this error when it runs.
    return false;
  }
}

/**
 * Returns whether a tool call of the agent may wait for an approval. Includes the tools of inactive
 * groups and the tools of child agents. Leaves out child agents that a factory creates later.
 */
export function mayAskApproval({ tools, use }: Pick<Agent, 'tools' | 'use'>): boolean {
  return (
    use.some((part) => (part as Partial<Approving>).mayAsk) ||
    toolsIn(tools).some((tool) => tool.needsApproval || tool.mayAskApproval?.())
  );
}
