import { AgentError, toolResultsOf, toolUsesOf } from '@isoloop/core';
import type { Decision, ReActAgent } from '@isoloop/core';

/**
 * Throws `INVALID_DECISION` for what a client may not decide: about a call that the agent did not ask for or that is over, a result of
 * a tool that runs here or that waits for an approval, an approval of what waits for a result, other arguments than the model's.
 */
export async function checkDecisions({ memory, tools, status }: ReActAgent, decisions: readonly Decision[]): Promise<void> {
  const history = await memory.read();
  await memory.restore?.(status, tools);
  const over = new Set(history.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId));
  const names = new Map(history.flatMap(toolUsesOf).map(({ id, name }) => [id, name]));
  for (const { toolUseId, type } of decisions) {
    const name = names.get(toolUseId);
    const tool = name === undefined ? undefined : tools.find(name);
    const runsHere = typeof tool === 'string' || tool?.execute !== undefined;
    const kind = status.calls.get(toolUseId)?.pending?.kind ?? (runsHere ? 'approval' : 'external');
    const isResult = type === 'result';
    if (name === undefined || over.has(toolUseId)) throw refused(toolUseId, 'is not open');
    if (type === 'edit') throw refused(toolUseId, 'takes no other arguments from its client');
    if (isResult && (runsHere || kind !== 'external')) throw refused(toolUseId, 'takes no result from its client');
    if (type === 'approve' && kind === 'external') throw refused(toolUseId, 'waits for a result, not for an approval');
  }
}

function refused(toolUseId: string, problem: string): AgentError {
  return new AgentError('INVALID_DECISION', `Tool call ${JSON.stringify(toolUseId)} ${problem}.`, { details: { param: 'messages' } });
}
