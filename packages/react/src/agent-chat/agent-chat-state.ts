import type { UIMessage } from '@isoloop/core/stream';
import type { AgentSessionEntry, QueuedMessage } from '@isoloop/core/host';
import type { ChatState } from '../chat/chat.ts';

/** What a chat does besides its own turns. */
export type Phase = 'idle' | 'loading' | 'other-tab' | 'continuing';

/** What a page shows of a chat. Is replaced at each change. */
export interface AgentChatState {
  readonly phase: Phase;
  readonly chat: ChatState;
  /** Messages that were sent and are not in the conversation yet. */
  readonly queued: readonly QueuedMessage[];
  /** Stored conversations, as soon as they are loaded. */
  readonly sessions?: readonly AgentSessionEntry[] | undefined;
  /** Failure of the last action that is not a message. */
  readonly error?: Error | undefined;
}

/**
 * Returns the failure that the page shows. While the chat tries again, an answer has none, but a
 * failed action has, such as a stop.
 */
export function shownError({ phase, chat, error }: AgentChatState): Error | undefined {
  return (phase === 'idle' ? chat.error : undefined) ?? error;
}

/** Returns what a chat shows before it connects. */
export function initialState(isNew: boolean, messages: readonly UIMessage[] = []): AgentChatState {
  return { phase: isNew ? 'idle' : 'loading', chat: { messages, status: 'ready' }, queued: [] };
}
