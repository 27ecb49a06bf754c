import { AgentError } from '@isoloop/core';
import { checkDecision } from '@isoloop/core/adapter';
import type { Decision } from '@isoloop/core';
import type { EdgeLimits } from '../handler-options.ts';
import { invalidField } from '../http/request-body.ts';
import { checkSizes } from './decisions.ts';

/**
 * Reads the decisions that a client posted. Throws `INVALID_INPUT` for an invalid or unknown field.
 * If an unknown field were ignored, a tool call could run differently from what the client expects.
 * Throws
 * `PAYLOAD_TOO_LARGE` if there are too many decisions or one is too long.
 */
export function readDecisions(given: unknown, limits: EdgeLimits): readonly Decision[] {
  const { messages } = limits;
  if (!Array.isArray(given) || !given.length)
    throw invalidField('decisions', 'must be a list of decisions');
  if (given.length > messages)
    throw new AgentError('PAYLOAD_TOO_LARGE', `The request has more than ${messages} decisions.`);
  const decisions = given.map((item: unknown, index) => readDecision(item, `decisions[${index}]`));
  checkSizes(decisions, limits, (index) => `decisions[${index}]`);
  return decisions;
}

function readDecision(item: unknown, param: string): Decision {
  checkDecision(item, param);
  // Only programs may give media as a result, or end a tool call as interrupted.
  if (item.type === 'result' && (typeof item.output !== 'string' || item.state === 'interrupted'))
    throw invalidField(param, 'needs a text as `output`, and "success" or "error" as `state`');
  return item;
}
