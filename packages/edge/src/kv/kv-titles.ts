import { KvStore } from './kv-store.ts';

/**
 * Titles that a user gave to conversations in KV. Each title has a key of its own, because a write
 * to the conversation's log would conflict with a turn that continues an earlier state.
 */
export class KvTitles {
  readonly #store: KvStore;
  readonly #prefix: string;

  constructor(kv: KVNamespace, user: string) {
    this.#store = new KvStore(kv);
    this.#prefix = `title:${encodeURIComponent(user)}/`;
  }

  /** Reads all titles. Returns a function that returns the title of a session. */
  async read(): Promise<(sessionId: string) => string | undefined> {
    const titles = await this.#store.getMany(await this.#store.keys(this.#prefix));
    return (sessionId) => titles.get(this.#prefix + sessionId);
  }

  set(sessionId: string, title: string): Promise<void> {
    return this.#store.set(this.#prefix + sessionId, title);
  }

  delete(sessionId: string): Promise<void> {
    return this.#store.delete([this.#prefix + sessionId]);
  }
}
