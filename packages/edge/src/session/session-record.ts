import type { SessionOptions } from '../handler-options.ts';

/**
 * Identity of a session. The object stores it, because an alarm does not say which session the
 * object has.
 */
export interface Identity {
  readonly user: string;
  readonly session: string;
  /** Creation time, in milliseconds since 1970. */
  readonly createdAt: number;
}

/**
 * Time of the last change, in milliseconds since 1970, and number of changes so far. The number
 * distinguishes changes within one millisecond.
 */
interface Touched {
  readonly at: number;
  readonly count: number;
}

/** Data that the Durable Object stores about its session in addition to the conversation. */
export class SessionRecord {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Identity of the session. `undefined` before the first turn and after a deletion. */
  get identity(): Identity | undefined {
    return this.#storage.kv.get<Identity>('identity');
  }

  /** Stores the identity. Returns false if the session already has one. */
  begin(identity: Identity): boolean {
    if (this.identity) return false;
    this.#storage.kv.put('identity', identity);
    return true;
  }

  /** Stores that the session has changed now. */
  touch(): void {
    this.#storage.kv.put<Touched>('touched', { at: Date.now(), count: this.touched.count + 1 });
  }

  get touched(): Touched {
    return this.#storage.kv.get<Touched>('touched') ?? { at: 0, count: 0 };
  }

  /** Title that a person gave the session. `undefined`: the session has its own title. */
  get title(): string | undefined {
    return this.#storage.kv.get<string>('title');
  }

  /** Stores the title. The list does not have this change yet. The time of the last change stays. */
  rename(title: string): void {
    const { at, count } = this.touched;
    this.#storage.kv.put('title', title);
    this.#storage.kv.put<Touched>('touched', { at, count: count + 1 });
  }

  /** Stores that the list of the user's sessions has the change with this number. */
  listed(count: number): void {
    if (this.identity) this.#storage.kv.put('listed', count);
  }

  /** Whether the list of the user's sessions has the last change. */
  get isListed(): boolean {
    return this.#storage.kv.get<number>('listed') === this.touched.count;
  }

  /** Returns the time at which the session expires, in milliseconds since 1970. */
  expiresAt({ expireAfterMs }: SessionOptions): number {
    return this.touched.at + expireAfterMs;
  }
}
