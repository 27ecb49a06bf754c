import { getToolName, isToolUIPart, type UIMessage } from './ui-message.ts';

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
  decide: (decided: ApprovalResponse) => Promise<void>,
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
