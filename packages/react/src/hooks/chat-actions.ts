import type { AgentChat } from '../conversation/agent-chat.ts';
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
  const { chat, queue } = conversation;
  const resumeStream = (): Promise<void> => queue.send(() => conversation.resume());
  return {
    sendMessage(input, options) {
      // The page may reset its form before the message is sent, which empties the list.
      const message = input?.files ? { ...input, files: [...input.files] } : input;
      if (message && message.messageId === undefined) return queue.sendMessage(message, options);
      return queue.send(() => chat.sendMessage(message, options));
    },
    withdraw: (id) => queue.withdraw(id),
    regenerate: (...args) => queue.send(() => chat.regenerate(...args)),
    retry() {
      const question = chat.state.messages.findLast(({ role }) => role === 'user');
      if (!question || chat.failedTrigger === 'resume-stream') return resumeStream();
      // The agent may not have got the question, so that it could not regenerate its answer.
      const { error: _error, ...metadata } = Object(question.metadata) as { error?: unknown };
      return queue.send(() => chat.sendMessage({ ...question, metadata, messageId: question.id }));
    },
    stop: () => conversation.stop(),
    resumeStream,
    clearError: () => void conversation.attempt(async () => chat.clearError()),
    setMessages: (update) =>
      chat.setMessages(typeof update === 'function' ? update([...chat.state.messages]) : update),
    addToolOutput: ({ options, ...output }) => chat.addOutput(output, options),
    addToolApprovalResponse: ({ options, ...response }) => chat.decide(response, options),
  };
}
