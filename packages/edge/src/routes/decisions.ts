import { AgentError, type Decision } from '@isoloop/core';
import type { Caller, EdgeLimits } from '../settings/handler-options.ts';
import { checkDecisionSize, decisionError, fieldError, checkDecision } from '@isoloop/core/host';

/**
 * Reads the decisions that a client posted. Throws `INVALID_INPUT` for an invalid or unknown field.
 * If an unknown field were ignored, a tool call could run differently from what the client expects.
 * Throws `PAYLOAD_TOO_LARGE` if there are too many decisions or one is too long.
 */
export function readDecisions(list: unknown, limits: EdgeLimits): readonly Decision[] {
  const { messages } = limits;
  if (!Array.isArray(list) || !list.length)
    throw fieldError('decisions', 'must be a list of decisions');
  if (list.length > messages)
    throw new AgentError('PAYLOAD_TOO_LARGE', `The request has more than ${messages} decisions.`);
  return list.map((item: unknown, index) => {
    const param = `decisions[${index}]`;
    checkDecision(item, param);
    // Only programs may give media as a result, or end a tool call as interrupted.
    if (item.type === 'result' && (typeof item.output !== 'string' || item.state === 'interrupted'))
      throw fieldError(param, 'needs a text as `output`, and "success" or "error" as `state`');
    checkDecisionSize(item, limits, () => param);
    return item;
  });
}

/** Throws `INVALID_DECISION` for an edit by a user whom `authorize` does not allow to edit. */
export function checkEdits(
  decisions: readonly Decision[] = [],
  { mayEdit }: Pick<Caller, 'mayEdit'>,
): void {
  const edit = decisions.find(({ type }) => type === 'edit');
  if (edit && mayEdit === false)
    throw decisionError(edit, 'takes no other arguments from this user');
}
