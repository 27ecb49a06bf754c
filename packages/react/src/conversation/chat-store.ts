import type { AgentSessionEntry, QueuedMessage } from '@isoloop/core/host';
import type { DataUIPart, UIMessage } from '@isoloop/core/stream';
import { TimelineEvents, type AgentTimelineEvent } from '../reading/timeline-events.ts';
import type { ChatState } from './chat.ts';
import { ChatComponents } from './chat-components.ts';
import { withChanges } from '../reading/is-equal.ts';

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

/** What a page shows of a conversation, and the components that show it. */
export class ChatStore {
  state: AgentChatState;
  readonly components: ChatComponents = new ChatComponents((error) => this.set({ error }));
  readonly runEvents: TimelineEvents = new TimelineEvents();
  readonly #listeners: Set<() => void> = new Set();

  constructor(...initial: Parameters<typeof initialState>) {
    this.state = initialState(...initial);
  }

  /** Calls `listener` at each change of the state or the events. Returns what stops this. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  set(changes: Partial<AgentChatState>): void {
    const lastError = shownError(this.state);
    this.state = withChanges(this.state, changes);
    const error = shownError(this.state);
    if (error && error !== lastError) this.components.tell(({ onError }) => onError?.(error));
    for (const listener of this.#listeners) listener();
  }

  /** Changes the messages, or what is known of their answer. */
  setChat(changes: Partial<ChatState>): void {
    this.set({ chat: withChanges(this.state.chat, changes) });
  }

  /** Adds an event of a run, or tells the components about data of a tool. */
  addData(part: DataUIPart): void {
    if (part.type === 'data-isoloop-event') this.#addEvent(part.data as AgentTimelineEvent);
    else this.components.tell(({ onData }) => onData?.(part));
  }

  #addEvent(event: AgentTimelineEvent): void {
    const news = this.runEvents.take(event);
    let { phase } = this.state;
    if (news === 'continues') phase = 'continuing';
    else if (news && phase === 'loading') phase = 'other-tab';
    this.set({ phase });
  }
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
