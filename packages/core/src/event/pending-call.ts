import type { MessageContent } from '../message/msg.ts';
import { jsonForm, type JsonObject, type JsonValue } from '../message/json.ts';
import { AgentError, type AgentErrorCode } from '../error/agent-error.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { anything, oneOf, optional, string } from '../error/options/kinds.ts';
import type { OptionTable, WithField } from '../error/options/option-table.ts';
import { isCompleteBlock, isOutput } from '../message/is-message.ts';

/** Tool call that waits for a person or another program. */
export interface PendingCall {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: JsonValue;
  /**
   * `approval`: a person must allow the tool to run. `external`: the caller must supply the result.
   * `suspended`: the tool itself asked to wait. `replay`: a person must allow the tool to run
   * again.
   */
  readonly kind: 'approval' | 'external' | 'suspended' | 'replay';
  readonly reason?: string;
  /** Whether a suspended agent tool waits only for approvals of its child agent's tool calls. */
  readonly forApproval?: true;
  /**
   * What the tool passed to `suspend` besides the reason, such as the questions of an MCP server.
   * The tool gets it again together with the decision.
   */
  readonly details?: JsonObject;
}

/** Returns whether the tool call waits only for approvals. */
export function waitsForApproval({ kind, forApproval }: PendingCall): boolean {
  return kind === 'approval' || forApproval === true;
}

/** Name of the middleware that carries out decisions. */
export const decisionsMiddleware = 'approvals';

/** Decision about a pending tool call. Pass it as input of the next agent call. */
export type Decision = {
  readonly toolUseId: string;
  /**
   * Name of the tool. If the tool call is for another tool, the decision fails with
   * `INVALID_DECISION`.
   */
  readonly name?: string;
} & (
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly input: JsonValue }
  | { readonly type: 'reject'; readonly reason?: string }
  | {
      readonly type: 'result';
      readonly output: MessageContent;
      readonly state?: 'success' | 'error' | 'interrupted';
    }
);

/** The fields of all types of decisions. */
const common: OptionTable<Pick<Decision, 'toolUseId' | 'name' | 'type'>> = {
  toolUseId: string,
  name: optional(string),
  type: oneOf('approve', 'edit', 'reject', 'result'),
};

/** The fields of each type of decision. */
const decisionFields: {
  readonly [T in Decision['type']]: OptionTable<WithField<Decision, 'type', T>>;
} = {
  approve: common,
  edit: { ...common, input: anything },
  reject: { ...common, reason: optional(string) },
  result: {
    ...common,
    output: anything,
    state: optional(oneOf('success', 'error', 'interrupted')),
  },
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
  checkFields(where, value, common, code);
  const decision = value as Decision;
  checkOptions(where, decision, decisionFields[decision.type], code);
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
