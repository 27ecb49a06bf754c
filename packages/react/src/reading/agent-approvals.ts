import { AgentError } from '@isoloop/core';
import { jsonForm } from '@isoloop/core/message';
import {
  getToolName,
  isToolUIPart,
  type UIMessage,
  type UIMessagePart,
} from '@isoloop/core/stream';
import type { CallPart } from './call-parts.ts';

/** Tool call that waits for a person. */
export interface AgentApproval {
  /** Id of the tool call. */
  readonly id: string;
  readonly toolName: string;
  readonly input: unknown;
  /** Why the call needs approval, if the agent says so. */
  readonly reason: string | undefined;
  approve(): Promise<void>;
  /** The model reads the reason. */
  deny(reason?: string): Promise<void>;
  /** Approves the call with other arguments. The tool's schema has to accept them. */
  edit(input: unknown): Promise<void>;
}

/** Decision about an approval request. `input`: other arguments for the tool. */
export interface ApprovalResponse {
  readonly id: string;
  readonly approved: boolean;
  readonly reason?: string | undefined;
  readonly input?: unknown;
}

/** Returns the tool calls of the last answer that wait. A new message denies older ones. */
export function approvalsIn(
  messages: readonly UIMessage[],
  decide: (response: ApprovalResponse) => Promise<void>,
): readonly AgentApproval[] {
  const answer = messages.findLast(({ role, parts }) => role === 'assistant' && parts.length);
  return (answer?.parts ?? []).flatMap((part) => {
    if (!isToolUIPart(part) || part.state !== 'approval-requested') return [];
    const { id, requestReason } = part.approval;
    return {
      id: part.toolCallId,
      toolName: getToolName(part),
      input: part.input,
      reason: requestReason,
      approve: () => decide({ id, approved: true }),
      deny: (reason) => decide({ id, approved: false, reason }),
      edit: (input) => decide({ id, approved: true, input }),
    };
  });
}

/**
 * Returns the tool call with the decision of the person, or `undefined` for another tool call.
 * Throws `INVALID_DECISION` for edited arguments without a JSON form.
 */
export function withResponse(
  part: CallPart,
  { id, ...decision }: ApprovalResponse,
): object | undefined {
  const { state, approval } = part;
  if (state !== 'approval-requested' || approval.id !== id) return undefined;
  const edit = 'input' in decision ? { input: editOf(decision.input) } : {};
  return { ...part, state: 'approval-responded', approval: { ...approval, ...decision, ...edit } };
}

/** `undefined` would reach the agent as an approval of the arguments that the model wrote. */
function editOf(input: unknown): unknown {
  try {
    const edit = jsonForm(input, 'The edit');
    if (edit !== undefined) return edit;
    throw new TypeError('The edit is undefined.');
  } catch (cause) {
    const message = `The call still waits. ${(cause as Error).message}`;
    throw new AgentError('INVALID_DECISION', message, { cause });
  }
}

/**
 * Returns the messages with the approvals open again that were decided together with an edit. The
 * agent has refused the edit, and then all of its tool calls still wait.
 */
export function withOpenApprovals(messages: readonly UIMessage[]): readonly UIMessage[] {
  return messages.map((message) => {
    const { parts } = message;
    const isEdited = parts.some((part) => isDecided(part) && 'input' in part.approval);
    return isEdited ? { ...message, parts: parts.map(withOpenApproval) } : message;
  });
}

function withOpenApproval(part: UIMessagePart): UIMessagePart {
  if (!isDecided(part)) return part;
  const { approved: _approved, reason: _reason, ...rest } = part.approval;
  const { input: _input, ...approval } = rest as typeof rest & { readonly input?: unknown };
  return { ...part, state: 'approval-requested', approval } as UIMessagePart;
}

/** A tool call about which the user has decided here. */
type DecidedPart = Extract<UIMessagePart, { state: 'approval-responded' }>;

/** Returns whether the user has decided about the tool call of a part. */
export function isDecided(part: UIMessagePart): part is DecidedPart {
  return isToolUIPart(part) && part.state === 'approval-responded';
}

/**
 * Returns whether the agent has refused decisions. The stream of an answer has the code as text.
 */
export function isRefusedDecision(error: Error | undefined): boolean {
  const code = 'INVALID_DECISION';
  if (AgentError.is(error)) return error.code === code;
  return error?.message.endsWith(`[${code}]`) ?? false;
}
