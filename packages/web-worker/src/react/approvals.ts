import { getToolName, isToolUIPart, type UIMessage } from 'ai';
import type { AgentChat } from './agent-chat.ts';

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

/** Returns the tool calls of the last answer that wait. A new message denies older ones. */
export function approvalsIn(
  messages: readonly UIMessage[],
  conversation: AgentChat,
): readonly AgentApproval[] {
  const { chat } = conversation;
  const answer = messages.findLast(({ role, parts }) => role === 'assistant' && parts.length);
  return (answer?.parts ?? []).flatMap((part) => {
    if (!isToolUIPart(part) || part.state !== 'approval-requested') return [];
    const { id, requestReason } = part.approval;
    const respond = async (approved: boolean, reason?: string): Promise<void> =>
      conversation.whenResumed(async () =>
        chat.addToolApprovalResponse({ id, approved, ...(reason !== undefined && { reason }) }),
      );
    return {
      id: part.toolCallId,
      toolName: getToolName(part),
      input: part.input,
      reason: requestReason,
      approve: () => respond(true),
      deny: (reason) => respond(false, reason),
      edit(input) {
        // AI SDK keeps further fields of an approval. `fromUiDecisions` reads this one.
        Object.assign(part.approval, { input });
        return respond(true);
      },
    };
  });
}
