import { AgentError, toolResultsOf, toolUsesOf } from '@isoloop/core';
import type { Decision, ReActAgent } from '@isoloop/core';
import type { EdgeLimits } from '../handler-options.ts';

/** The parts of an agent that are needed to check decisions. */
export type Deciding = Pick<ReActAgent, 'memory' | 'tools' | 'status'>;

/**
 * Checks a client's decisions about pending tool calls and returns those that count. Throws
 * `INVALID_DECISION` if there are none, or for a decision that:
 *
 * - is about a call that the agent did not make, that is not pending, that has ended, or that is
 *   decided twice;
 * - has the name of another tool;
 * - is a result for a tool that runs here or waits for an approval;
 * - is an approval for a call that waits for a result;
 * - changes the model's arguments.
 *
 * With `isHistory`, the claims may repeat results of finished calls, which are skipped.
 */
export async function acceptDecisions(
  { memory, tools, status }: Deciding,
  claims: readonly Decision[],
  { isHistory = false }: { readonly isHistory?: boolean } = {},
): Promise<readonly Decision[]> {
  const history = await memory.read();
  await memory.restore?.(status, tools);
  const over = new Set(history.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId));
  const names = new Map(history.flatMap(toolUsesOf).map(({ id, name }) => [id, name]));
  const isOpen = (id: string): boolean => names.has(id) && !over.has(id);
  const decisions = isHistory
    ? claims.filter(({ toolUseId, type }) => type !== 'result' || isOpen(toolUseId))
    : claims;
  const decided = new Set<string>();
  for (const { toolUseId, type, name } of decisions) {
    const asked = names.get(toolUseId);
    if (asked === undefined || !isOpen(toolUseId)) throw refused(toolUseId, 'is not open');
    if (name !== undefined && name !== asked) throw refused(toolUseId, 'is of another tool');
    if (decided.has(toolUseId)) throw refused(toolUseId, 'is decided twice');
    decided.add(toolUseId);
    const tool = tools.find(asked);
    const runsHere = typeof tool === 'string' || tool?.execute !== undefined;
    // A memory without a log does not know what its calls wait for.
    const kind =
      status.calls.get(toolUseId)?.pending?.kind ??
      (memory.restore ? undefined : runsHere ? 'approval' : 'external');
    if (kind === undefined) throw refused(toolUseId, 'waits for no decision');
    if (type === 'edit') throw refused(toolUseId, 'takes no other arguments from its client');
    if (type === 'result' && (runsHere || kind !== 'external'))
      throw refused(toolUseId, 'takes no result from its client');
    if (type === 'approve' && kind === 'external')
      throw refused(toolUseId, 'waits for a result, not for an approval');
  }
  if (decisions.length) return decisions;
  throw new AgentError('INVALID_DECISION', 'No tool call waits for this decision.');
}

/**
 * Throws `PAYLOAD_TOO_LARGE` for a result or a reason of more than `toolResultChars`. `param`
 * returns the field's name for an index.
 */
export function checkSizes(
  decisions: readonly Decision[],
  { toolResultChars }: EdgeLimits,
  param: (index: number) => string,
): void {
  for (const [index, decision] of decisions.entries()) {
    const said =
      decision.type === 'result'
        ? decision.output
        : decision.type === 'reject'
          ? (decision.reason ?? '')
          : '';
    const size = typeof said === 'string' ? said.length : JSON.stringify(said).length;
    if (size <= toolResultChars) continue;
    throw new AgentError(
      'PAYLOAD_TOO_LARGE',
      `${param(index)} is longer than ${toolResultChars} characters.`,
      {
        details: { param: param(index) },
      },
    );
  }
}

/** Returns whether a value is a valid tool call id: 1 to 256 visible characters. */
export function isCallId(id: unknown): id is string {
  return typeof id === 'string' && /^[!-~]{1,256}$/.test(id);
}

function refused(toolUseId: string, problem: string): AgentError {
  const id = isCallId(toolUseId) ? ` ${JSON.stringify(toolUseId)}` : '';
  return new AgentError('INVALID_DECISION', `Tool call${id} ${problem}.`, {
    details: { param: 'messages' },
  });
}
