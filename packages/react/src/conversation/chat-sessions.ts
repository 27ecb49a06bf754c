import type { StoredSessions } from '@isoloop/core/host';
import type { SendingQueue } from '../queue/sending-queue.ts';
import { isEqual } from '../reading/is-equal.ts';
import { isRefusal } from '../source/lost-connection.ts';
import type { ChatConnection } from './chat-connection.ts';
import type { ChatGate } from './chat-gate.ts';
import type { ChatStore } from './chat-store.ts';
import type { Chat } from './chat.ts';

export interface ChatSessionsOptions {
  readonly chat: Chat;
  readonly connection: ChatConnection;
  readonly gate: ChatGate;
  readonly queue: SendingQueue;
  readonly store: ChatStore;
}

/** The stored conversations. The chat shows one of them. */
export class ChatSessions {
  readonly #options: ChatSessionsOptions;
  /** Whether a component shows the list. */
  #isListed = false;

  constructor(options: ChatSessionsOptions) {
    this.#options = options;
    options.chat.onFinish(() => void this.load());
  }

  /** Loads the list, and keeps it up to date from now on. */
  list(): void {
    this.#isListed = true;
    void this.load();
  }

  /** Loads the list if a component shows it. */
  async load(): Promise<void> {
    const { connection, store } = this.#options;
    if (!this.#isListed || !connection.isOpen) return;
    try {
      const stored = await connection.link.sessions();
      const sessions = await stored.list();
      if (!isEqual(sessions, store.state.sessions)) store.set({ sessions });
    } catch (error) {
      // Otherwise the list stays as it is. The next change loads it again.
      if (isRefusal(error)) store.set({ sessions: undefined });
    }
  }

  /** Uses the stored conversations, and then loads their list again. */
  async use<T>(job: (stored: StoredSessions) => Promise<T>): Promise<T> {
    const stored = await this.#options.connection.link.sessions();
    const result = await job(stored);
    void this.load();
    return result;
  }

  /**
   * Deletes the conversation of the chat. Until then, messages that wait are not sent, because the
   * deletion ends the answer before them.
   */
  deleteShown(sessionId: string): Promise<void> {
    const { connection, gate, queue } = this.#options;
    const deleting = this.use(async (stored) => {
      // The deletion must not overtake a message on its way, which would bring it back.
      await connection.whenSent;
      await stored.delete(sessionId);
      queue.forget();
    });
    return gate.hold(deleting);
  }
}
