import { AgentError } from '@isoloop/core';

/**
 * Identity of a session. The object stores it, because an alarm does not say which session the
 * object has.
 */
export interface Identity {
  readonly user: string;
  readonly sessionId: string;
  /** Creation time, in milliseconds since 1970. */
  readonly createdAt: number;
}

/** Version of the data that the object stores in addition to the log: this record and the queue. */
export const identityVersion = 4;

/** Data that the Durable Object stores about its session in addition to the conversation. */
export class IdentityRecord {
  readonly #storage: DurableObjectStorage;
  #identity: Identity | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /**
   * Identity of the session. `undefined` before the first turn and after a deletion. Throws
   * `STORAGE_FAILED` if the object's data has another format.
   */
  get identity(): Identity | undefined {
    return (this.#identity ??= this.#read());
  }

  /** Stores the identity. Returns false if the session already has one. */
  begin(identity: Identity): boolean {
    if (this.identity) return false;
    this.#storage.kv.put('identity', { v: identityVersion, ...identity });
    this.#identity = identity;
    return true;
  }

  /** Deletes the identity of a session whose first turn was refused. */
  remove(): void {
    this.#storage.kv.delete('identity');
    this.forget();
  }

  /** Reads the identity again at its next use. Call this when the object's data is deleted. */
  forget(): void {
    this.#identity = undefined;
  }

  /** Title that a person gave the session. `undefined`: the session has its own title. */
  get title(): string | undefined {
    return this.#storage.kv.get<string>('title');
  }

  rename(title: string): void {
    this.#storage.kv.put('title', title);
  }

  #read(): Identity | undefined {
    const record = this.#storage.kv.get<Identity & { readonly v: unknown }>('identity');
    if (!record || record.v === identityVersion) return record;
    throw new AgentError(
      'STORAGE_FAILED',
      `The session's object has format ${String(record.v)}; this version of the library reads ${identityVersion}.`,
    );
  }
}
