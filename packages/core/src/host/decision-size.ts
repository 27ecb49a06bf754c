import { AgentError } from '../error/agent-error.ts';
import type { Decision } from '../event/pending-call.ts';
import type { ChatLimits } from './chat-turn.ts';

/**
 * Throws `PAYLOAD_TOO_LARGE` if a result, a rejection reason or edited arguments have more than
 * `toolResultChars` characters. `param` returns the field's name.
 */
export function checkDecisionSize(
  decision: Decision,
  { toolResultChars }: Pick<ChatLimits, 'toolResultChars'>,
  param: () => string,
): void {
  if (decisionSize(decision) <= toolResultChars) return;
  const message = `${param()} is longer than ${toolResultChars} characters.`;
  throw new AgentError('PAYLOAD_TOO_LARGE', message, { details: { param: param() } });
}

/** Returns the length of what a decision tells the model, in characters. */
export function decisionSize(decision: Decision): number {
  if (decision.type === 'reject') return decision.reason?.length ?? 0;
  if (decision.type === 'edit') return JSON.stringify(decision.input).length;
  if (decision.type !== 'result') return 0;
  const { output } = decision;
  return typeof output === 'string' ? output.length : JSON.stringify(output).length;
}
