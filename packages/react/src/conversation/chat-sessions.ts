import type { StoredSessions } from '@isoloop/core/host';
import type { ChatConnection } from './chat-connection.ts';
import type { ChatGate } from './chat-gate.ts';
import type { ChatStore } from './chat-store.ts';
import { isRefusal } from '../source/lost-connection.ts';

/** The stored conversations. The chat shows one of them. */
export class ChatSessions {
  readonly #connection: ChatConnection;
  readonly #gate: ChatGate;
  readonly #store: ChatStore;
  /** Whether a component shows the list. */
  #isListed = false;

  constructor(connection: ChatConnection, gate: ChatGate, store: ChatStore) {
    this.#connection = connection;
    this.#gate = gate;
    this.#store = store;
  }

  /** Loads the list, and keeps it up to date from now on. */
  list(): void {
    this.#isListed = true;
    void this.load();
  }

  /** Loads the list if a component shows it. */
  async load(): Promise<void> {
    if (!this.#isListed || !this.#connection.isOpen) return;
    try {
      const stored = await this.#connection.link.sessions();
      this.#store.set({ sessions: await stored.list() });
    } catch (error) {
      // Otherwise the list stays as it is. The next change loads it again.
      if (isRefusal(error)) this.#store.set({ sessions: undefined });
    }
  }

  /** Uses the stored conversations, and then loads their list again. */
  use<T>(job: (stored: StoredSessions) => Promise<T>): Promise<T | undefined> {
    return this.#store.attempt(async () => {
      const result = await job(await this.#connection.link.sessions());
      void this.load();
      return result;
    });
  }

  /**
   * Deletes the conversation of the chat. Returns whether it is deleted. Until then, messages that
   * wait are not sent, because the deletion ends the answer before them. `forget`: drops them.
   */
  async deleteShown(sessionId: string, forget: () => void): Promise<boolean> {
    const deleting = this.use(async (stored) => {
      // The deletion must not overtake a message on its way, which would bring it back.
      await this.#connection.whenSent;
      await stored.delete(sessionId);
      forget();
      return true;
    });
    const isDeleted = await this.#gate.hold(deleting);
    return isDeleted ?? false;
  }
}
