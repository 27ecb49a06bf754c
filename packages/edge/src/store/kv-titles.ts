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

  /** Returns the titles by session id. */
  async read(): Promise<ReadonlyMap<string, string>> {
    const keys = await this.#store.keys(this.#prefix);
    const titles = await this.#store.getMany(keys);
    return new Map([...titles].map(([key, title]) => [key.slice(this.#prefix.length), title]));
  }

  set(sessionId: string, title: string): Promise<void> {
    return this.#store.set(this.#prefix + sessionId, title);
  }

  delete(sessionId: string): Promise<void> {
    return this.#store.delete([this.#prefix + sessionId]);
  }
}
