import type { SessionOptions } from '../handler-options.ts';

/** What an object knows of its session; an alarm brings none of it. */
export interface Identity {
  readonly user: string;
  readonly session: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** The last change: when, and how many there were; several may fall into a millisecond. */
interface Touched {
  readonly at: number;
  readonly count: number;
}

/** What an object keeps of its session besides the conversation. */
export class SessionRecord {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Nothing before the first turn, and after the session was deleted. */
  get identity(): Identity | undefined {
    return this.#storage.kv.get<Identity>('identity');
  }

  /** Whether the session began with that. */
  begin(identity: Identity): boolean {
    if (this.identity) return false;
    this.#storage.kv.put('identity', identity);
    return true;
  }

  /** Notes a change. */
  touch(): void {
    this.#storage.kv.put<Touched>('touched', { at: Date.now(), count: this.touched.count + 1 });
  }

  get touched(): Touched {
    return this.#storage.kv.get<Touched>('touched') ?? { at: 0, count: 0 };
  }

  /** Notes that the user's list has the session as of that change. */
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
