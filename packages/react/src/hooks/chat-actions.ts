import type { RequestOptions } from '@isoloop/core/host';
import type { AgentChat } from '../conversation/agent-chat.ts';
import { withResponse, type ApprovalResponse } from '../reading/agent-approvals.ts';
import { withOutput, type ChangeCall } from '../reading/call-parts.ts';
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
> {
  addToolApprovalResponse(
    decision: ApprovalResponse & { readonly options?: RequestOptions | undefined },
  ): Promise<void>;
}

/**
 * Returns the methods. Their failures become `error` of the hook, except those of `setMessages`: it
 * makes no request, so the caller gets what it throws.
 */
export function chatActions(conversation: AgentChat): ChatActions {
  const { chat, gate, loading, queue } = conversation;
  /** Makes a request when it is the turn of this one. */
  const send = (act: () => Promise<void>): Promise<void> =>
    conversation.attempt(() => queue.send(act));
  const resumeStream = (): Promise<void> => send(() => loading.resume());
  const changeCall = (change: ChangeCall, options?: RequestOptions): Promise<void> =>
    conversation.attempt(async () => {
      // A stop would end the turn that the decision begins.
      await gate.whenReleased();
      chat.changeCall(change, options);
    });
  return {
    sendMessage(input, options) {
      // The page may reset its form before the message is sent, which empties the list.
      const message = input?.files ? { ...input, files: [...input.files] } : input;
      if (message && message.messageId === undefined)
        return conversation.attempt(() => queue.sendMessage(message, options));
      return send(() => chat.sendMessage(message, options));
    },
    withdraw: (id) => conversation.attempt(() => queue.withdraw(id)),
    regenerate: (...args) => send(() => chat.regenerate(...args)),
    retry() {
      const question = chat.state.messages.findLast(({ role }) => role === 'user');
      if (!question || chat.hasFailedToLoad) return resumeStream();
      // The agent may not have got the question, so that it could not regenerate its answer.
      const { error: _error, ...metadata } = Object(question.metadata) as { error?: unknown };
      return send(() => chat.sendMessage({ ...question, metadata, messageId: question.id }));
    },
    stop: () => conversation.attempt(() => conversation.stop()),
    resumeStream,
    clearError: () => void conversation.attempt(async () => chat.clearError()),
    setMessages: (update) =>
      chat.setMessages(typeof update === 'function' ? update([...chat.state.messages]) : update),
    addToolOutput: ({ options, ...output }) =>
      changeCall((part) => withOutput(part, output), options),
    addToolApprovalResponse: ({ options, ...response }) =>
      changeCall((part) => withResponse(part, response), options),
  };
}
