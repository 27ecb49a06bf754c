import { initialState, shownError, type AgentChatState } from './agent-chat-state.ts';
import { RunEvents, type AgentTimelineEvent } from '../hooks/agent-events.ts';
import { ChatComponents } from './chat-components.ts';
import { withChanges } from '../chat/is-equal.ts';

/** What a page shows of a conversation, and the components that show it. */
export class ChatStore {
  state: AgentChatState;
  readonly components: ChatComponents = new ChatComponents((error) => this.set({ error }));
  readonly runEvents: RunEvents = new RunEvents();
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
    this.#notify();
  }

  /** Adds an event of a run. */
  addEvent(event: AgentTimelineEvent): void {
    const news = this.runEvents.take(event);
    this.#notify();
    if (news === 'continues') this.set({ phase: 'continuing' });
    else if (news && this.state.phase === 'loading') this.set({ phase: 'other-tab' });
  }

  /** Does something that the person asked for. A failure becomes `error` of the hook. */
  async attempt<T>(act: () => PromiseLike<T>): Promise<T | undefined> {
    this.set({ error: undefined });
    try {
      return await act();
    } catch (error) {
      this.set({ error: error as Error });
      return undefined;
    }
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
