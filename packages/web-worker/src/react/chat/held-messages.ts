import type { UIMessage } from './ui-message.ts';

/** Message that was sent and is not in the conversation yet. */
export interface QueuedMessage {
  readonly id: string;
  readonly message: UIMessage;
  /**
   * `waiting`: it waits for the end of an answer, or for the result of a tool call. `failed`: its
   * turn failed before the agent had the message.
   */
  readonly state: 'waiting' | 'failed';
  /** Why the turn failed. */
  readonly error?: { readonly code: string; readonly message: string };
}

/**
 * Messages that a page holds until its agent can take them, in their order. The storage of the
 * browser keeps them over a reload. Each message has a key of its own, so that two tabs can write.
 */
export class HeldMessages {
  readonly #storage: Storage | undefined;
  readonly #prefix: string;
  /** Messages that the browser refuses to store, for example because they are too large. */
  readonly #unstored: Map<string, UIMessage> = new Map();

  /** `storage`: the page's `localStorage` or `sessionStorage`. `key`: name of the conversation. */
  constructor(storage: Storage | undefined, key: string) {
    this.#storage = storage;
    this.#prefix = `isoloop:queue:${key}:`;
  }

  list(): readonly UIMessage[] {
    const keys = Object.keys(this.#storage ?? {}).filter((key) => key.startsWith(this.#prefix));
    const stored = keys.toSorted().flatMap((key) => {
      const text = this.#storage?.getItem(key);
      return text ? (JSON.parse(text) as UIMessage) : [];
    });
    return [...stored, ...this.#unstored.values()];
  }

  add(message: UIMessage): void {
    // Keys in the order of time. Two messages may come in one millisecond.
    const last = this.#keyOf(this.list().at(-1)?.id)?.slice(this.#prefix.length);
    const order = Math.max(Date.now(), Number.parseInt(last ?? '0', 10) + 1);
    try {
      this.#storage!.setItem(`${this.#prefix}${order} ${message.id}`, JSON.stringify(message));
    } catch {
      this.#unstored.set(message.id, message);
    }
  }

  has(id: string): boolean {
    return this.#unstored.has(id) || this.#keyOf(id) !== undefined;
  }

  /** Returns whether there was such a message. */
  remove(id: string): boolean {
    const key = this.#keyOf(id);
    if (key !== undefined) this.#storage!.removeItem(key);
    return this.#unstored.delete(id) || key !== undefined;
  }

  /** Calls `listener` when another tab has changed the messages. Returns what ends this. */
  watch(listener: () => void): () => void {
    const onStorage = ({ key, storageArea }: StorageEvent): void => {
      if (storageArea === this.#storage && key?.startsWith(this.#prefix)) listener();
    };
    addEventListener('storage', onStorage);
    return () => removeEventListener('storage', onStorage);
  }

  /**
   * Runs the job while no other tab sends a held message. Where the browser has no locks, only this
   * tab is known.
   */
  async sendAlone(job: () => Promise<void>): Promise<void> {
    const isShared = this.#storage === globalThis.localStorage && 'locks' in navigator;
    await (isShared ? navigator.locks.request(this.#prefix, job) : job());
  }

  #keyOf(id: string | undefined): string | undefined {
    return Object.keys(this.#storage ?? {}).find(
      (key) => key.startsWith(this.#prefix) && key.endsWith(` ${id}`),
    );
  }
}

/** Returns a storage of the browser, or `undefined` if the browser refuses it. */
export function browserStorage(name: 'localStorage' | 'sessionStorage'): Storage | undefined {
  try {
    return globalThis[name];
  } catch {
    return undefined;
  }
}
