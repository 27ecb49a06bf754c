import type { SessionOptions } from '../handler-options.ts';

/** The identity of a session; stored because an alarm does not carry it. */
export interface Identity {
  readonly user: string;
  readonly session: string;
  /** Creation time, in milliseconds since 1970. */
  readonly createdAt: number;
}

/** The last change: its time, and the number of changes so far. Several may share a millisecond. */
interface Touched {
  readonly at: number;
  readonly count: number;
}

/** The data that an object stores about its session, besides the conversation. */
export class SessionRecord {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /**
   * The session's identity; `undefined` before the first turn and after the session was deleted.
   */
  get identity(): Identity | undefined {
    return this.#storage.kv.get<Identity>('identity');
  }

  /** Stores the identity; returns false if the session had already begun. */
  begin(identity: Identity): boolean {
    if (this.identity) return false;
    this.#storage.kv.put('identity', identity);
    return true;
  }

  /** Records a change. */
  touch(): void {
    this.#storage.kv.put<Touched>('touched', { at: Date.now(), count: this.touched.count + 1 });
  }

  get touched(): Touched {
    return this.#storage.kv.get<Touched>('touched') ?? { at: 0, count: 0 };
  }

  /** Records that the user's list has the change with this number. */
  listed(count: number): void {
    if (this.identity) this.#storage.kv.put('listed', count);
  }

  /** Whether the user's list has the last change. */
  get isListed(): boolean {
    return this.#storage.kv.get<number>('listed') === this.touched.count;
  }

  expiresAt({ expireAfterMs }: SessionOptions): number {
    return this.touched.at + expireAfterMs;
  }
}
