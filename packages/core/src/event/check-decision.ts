import { AgentError, type AgentErrorCode } from '../error/agent-error.ts';
import { checkFields, checkOptions } from '../error/check-fields.ts';
import type { Decision } from './pending-call.ts';
import { jsonForm } from '../message/json/json-form.ts';
import { isCompleteBlock, isOutput } from '../message/validation/is-message.ts';

/** The fields that each type of decision has, in addition to the fields of all types. */
const fieldsOf: Readonly<Record<Decision['type'], string>> = {
  approve: '',
  edit: ' input',
  reject: ' reason:string|?',
  result: ' output state:success|error|interrupted|?',
};

/**
 * Throws if the value is not a decision, or if it has a field that its type does not have. If such
 * a field were ignored, the agent could do something that the person did not approve.
 */
export function checkDecision(
  value: unknown,
  where: string,
  code: AgentErrorCode = 'INVALID_INPUT',
): asserts value is Decision {
  const common = 'toolUseId:string name:string|? type:approve|edit|reject|result';
  checkFields(where, value, common, code);
  const decision = value as Decision;
  checkOptions(where, decision, common + fieldsOf[decision.type], code);
  if (decision.type === 'edit' && !hasJsonForm(decision.input))
    throw new AgentError(code, `${where}: an \`edit\` needs \`input\` that has a JSON form.`);
  if (decision.type === 'result' && !isCompleteOutput(decision.output))
    throw new AgentError(
      code,
      `${where}: a \`result\` needs \`output\`, a text or content blocks.`,
    );
}

function isCompleteOutput(output: unknown): boolean {
  return isOutput(output) && (typeof output === 'string' || output.every(isCompleteBlock));
}

function hasJsonForm(input: unknown): boolean {
  try {
    return jsonForm(input, 'The arguments') !== undefined;
  } catch {
    return false;
  }
}
