import { AgentError, listSessions, MemoryStore, SessionMemory } from '@isoloop/core';
import type { SessionInfo } from '@isoloop/core';
import type { LogRecord } from '@isoloop/core/adapter';
import { IndexedDbStore } from './indexed-db-store.ts';

export interface IndexedDbSessionsOptions {
  /**
   * Default: one of its own on the database `isoloop`, which is `IndexedDbMemory`'s default, too.
   */
  readonly store?: IndexedDbStore;
  /** Long-term memories in other stores, whose records of a session are to be deleted with it. */
  readonly longTerm?: readonly { deleteSession?(sessionId: string): Promise<void> }[];
}

/** A whole session as plain JSON: conversation, open tool calls, summary, state and title. */
export interface SessionExport {
  readonly format: typeof format;
  readonly version: typeof version;
  readonly sessionId: string;
  readonly records: readonly LogRecord[];
}

export interface ImportOptions {
  /** Default: the exported session's. */
  readonly sessionId?: string;
  /** Deletes a session that has this id; default: then it is refused. */
  readonly replace?: boolean;
}

export interface StorageState {
  /** Whether the browser keeps the site's data when it needs room. */
  readonly persisted: boolean;
  /** Bytes used and available to the site, where the browser tells. */
  readonly usage: number | undefined;
  readonly quota: number | undefined;
}

const format = 'isoloop-session';
const version = 1;

/**
 * The conversations kept in IndexedDB, for a list of them; for a page as for a worker. An agent
 * that has one of them open sees a change at its next call. Rejects as the store does:
 * `STORAGE_QUOTA` where the browser has no room, `STORAGE_FAILED`.
 */
export class IndexedDbSessions {
  readonly #store: IndexedDbStore;
  readonly #longTerm: Required<IndexedDbSessionsOptions>['longTerm'];

  constructor({ store = new IndexedDbStore(), longTerm = [] }: IndexedDbSessionsOptions = {}) {
    this.#store = store;
    this.#longTerm = longTerm;
  }

  /** Those whose ids begin so (default: all), in the order of their ids. */
  list(options: { readonly startsWith?: string } = {}): Promise<readonly SessionInfo[]> {
    return listSessions(this.#store, options);
  }

  /** Gives a session a title. Rejects with `INVALID_INPUT` where there is none of that id. */
  async rename(sessionId: string, title: string): Promise<void> {
    await (await this.#existing(sessionId)).rename(title);
  }

  /**
   * Deletes a session, its summary with it, and its long-term records. Does nothing where there is
   * none.
   */
  async delete(sessionId: string): Promise<void> {
    await this.#memory(sessionId).clear();
    // ltm:<namespace>:<session>:<record>, in every namespace.
    const session = encodeURIComponent(sessionId);
    await this.#store.delete(
      (await this.#store.keys('ltm:')).filter((key) => key.split(':')[2] === session),
    );
    for (const memory of this.#longTerm) await memory.deleteSession?.(sessionId);
  }

  /** Rejects with `INVALID_INPUT` where there is none of that id. */
  async export(sessionId: string): Promise<SessionExport> {
    return {
      format,
      version,
      sessionId,
      records: await (await this.#existing(sessionId)).records(),
    };
  }

  /**
   * The id of the session that was made of what `export` gave. Rejects, and changes nothing, with
   * `INVALID_STATE` for what is none or of a newer version, and with `INVALID_INPUT` where the id
   * is taken.
   */
  async import(
    exported: unknown,
    { sessionId, replace = false }: ImportOptions = {},
  ): Promise<string> {
    const {
      format: given,
      version: written,
      sessionId: ownId,
      records,
    } = Object(exported) as Partial<SessionExport>;
    if (given !== format) throw new AgentError('INVALID_STATE', 'It is no exported session.');
    if (written !== version)
      throw new AgentError(
        'INVALID_STATE',
        `The session's format is ${String(written)}; this library reads ${version}.`,
      );
    const id = sessionId ?? ownId;
    if (typeof id !== 'string')
      throw new AgentError('INVALID_STATE', 'The exported session has no id.');
    const taken = await this.#find(id);
    if (taken && !replace)
      throw new AgentError('INVALID_INPUT', `There is a session "${id}" already.`);
    const checked = await checkRecords(records);
    if (taken) await this.#memory(id).clear();
    await this.#memory(id).adopt(checked);
    return id;
  }

  /**
   * Asks the browser to keep the site's data when it needs room; whether it will. Some ask the
   * user; most decide by how much the site is used. In a worker, which can't ask: what it is.
   */
  async persist(): Promise<boolean> {
    const { storage } = navigator;
    return (await (storage?.persist?.() ?? storage?.persisted?.())) ?? false;
  }

  async storage(): Promise<StorageState> {
    const { storage } = navigator;
    const [persisted = false, { usage, quota } = {}] = await Promise.all([
      storage?.persisted?.(),
      storage?.estimate?.(),
    ]);
    return { persisted, usage, quota };
  }

  #memory(sessionId: string): SessionMemory {
    return new SessionMemory(this.#store, sessionId);
  }

  async #find(sessionId: string): Promise<SessionInfo | undefined> {
    return (await this.list({ startsWith: sessionId })).find(
      (session) => session.sessionId === sessionId,
    );
  }

  async #existing(sessionId: string): Promise<SessionMemory> {
    if (!(await this.#find(sessionId)))
      throw new AgentError('INVALID_INPUT', `There is no session "${sessionId}".`);
    return this.#memory(sessionId);
  }
}

/** Before anything is deleted. */
async function checkRecords(records: unknown): Promise<readonly LogRecord[]> {
  const given = records as readonly LogRecord[];
  await new SessionMemory(new MemoryStore(), 'check').adopt(given);
  return given;
}
