import { AgentError } from '@isoloop/core';
import type { Decision } from '@isoloop/core';
import type { EdgeLimits } from '../handler-options.ts';
import { checkNames, invalidField } from '../http/request-body.ts';
import { checkSizes } from './decisions.ts';

/** Fields that only one type of decision has, for each type that a client may send. */
const fieldsOf: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['approve', []],
  ['edit', ['input']],
  ['reject', ['reason']],
  ['result', ['output', 'state']],
]);

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
  const given = Object(item) as Readonly<Record<string, unknown>>;
  const { type, toolUseId, name, reason, output, state, input } = given;
  const fields = fieldsOf.get(type);
  if (!fields)
    throw invalidField(`${param}.type`, 'must be "approve", "edit", "reject" or "result"');
  checkNames(given, ['type', 'toolUseId', 'name', ...fields], `${param}.`);
  if (typeof toolUseId !== 'string' || !toolUseId)
    throw invalidField(`${param}.toolUseId`, 'must be the id of a tool call');
  if (name !== undefined && (typeof name !== 'string' || !name))
    throw invalidField(`${param}.name`, 'must be the name of a tool');
  if (reason !== undefined && typeof reason !== 'string')
    throw invalidField(`${param}.reason`, 'must be a text');
  if (type === 'edit' && input === undefined)
    throw invalidField(`${param}.input`, 'must be the new arguments');
  if (type === 'result' && typeof output !== 'string')
    throw invalidField(`${param}.output`, 'must be a text');
  if (state !== undefined && state !== 'success' && state !== 'error')
    throw invalidField(`${param}.state`, 'must be "success" or "error"');
  return given as Decision;
}
