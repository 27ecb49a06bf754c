import { AgentError } from '@isoloop/core';
import { jsonForm } from '@isoloop/core/message';
import type { AgentChat } from './agent-chat.ts';
import type { ApprovalResponse } from './chat/approvals.ts';
import type { CallPart, RequestOptions } from './chat/chat.ts';
import type { AgentChatHelpers } from './use-agent-chat.ts';

/** Methods of the hook that belong to the conversation, and so stay the same in each render. */
export interface ChatActions extends Pick<
  AgentChatHelpers,
  | 'sendMessage'
  | 'withdraw'
  | 'regenerate'
  | 'retry'
  | 'stop'
  | 'resumeStream'
  | 'clearError'
  | 'setMessages'
  | 'addToolOutput'
  | 'addToolApprovalResponse'
> {}

/** Returns the methods. Their failures become `error` of the hook. */
export function chatActions(conversation: AgentChat): ChatActions {
  const { chat } = conversation;
  const resumeStream = (): Promise<void> => conversation.send(() => conversation.resume());
  return {
    sendMessage(input, options) {
      // The page may reset its form before the message is sent, which empties the list.
      const message = input?.files ? { ...input, files: [...input.files] } : input;
      if (message && message.messageId === undefined)
        return conversation.sendMessage(message, options);
      return conversation.send(() => chat.sendMessage(message, options));
    },
    withdraw: (id) => conversation.withdraw(id),
    regenerate: (...args) => conversation.send(() => chat.regenerate(...args)),
    retry() {
      const question = chat.state.messages.findLast(({ role }) => role === 'user');
      if (!question || chat.failedTrigger === 'resume-stream') return resumeStream();
      // The agent may not have got the question, so that it could not regenerate its answer.
      const { error: _error, ...metadata } = Object(question.metadata) as { error?: unknown };
      return conversation.send(() =>
        chat.sendMessage({ ...question, metadata, messageId: question.id }),
      );
    },
    stop: () => conversation.stop(),
    resumeStream,
    clearError: () => void conversation.attempt(async () => chat.clearError()),
    setMessages: (update) =>
      chat.setMessages(typeof update === 'function' ? update([...chat.state.messages]) : update),
    addToolOutput: ({ toolCallId, state = 'output-available', output, errorText, options }) =>
      changeCall(conversation, options, (part) =>
        part.toolCallId === toolCallId
          ? {
              ...part,
              state,
              ...(state === 'output-error'
                ? { errorText }
                : { output: jsonForm(output, 'The output') ?? null }),
            }
          : undefined,
      ),
    addToolApprovalResponse: ({ options, ...decided }) => decide(conversation, decided, options),
  };
}

/** Decides about an approval request, and sends the decision. */
export function decide(
  conversation: AgentChat,
  { id, ...decision }: ApprovalResponse,
  options?: RequestOptions,
): Promise<void> {
  return changeCall(conversation, options, (part) => {
    const { state, approval } = part;
    if (state !== 'approval-requested' || approval.id !== id) return undefined;
    const edit = 'input' in decision ? { input: editOf(decision.input) } : {};
    return {
      ...part,
      state: 'approval-responded',
      approval: { ...approval, ...decision, ...edit },
    };
  });
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

/** `change` returns `undefined` for other calls. Resolves when the page shows the change. */
function changeCall(
  conversation: AgentChat,
  options: RequestOptions | undefined,
  change: (part: CallPart) => object | undefined,
): Promise<void> {
  return conversation.whenResumed(async () => {
    void conversation.attempt(() => conversation.chat.changeCall(change, options));
  });
}
