import { AgentError, listSessions, SessionMemory, type SessionInfo } from '@isoloop/core';
import { adoptRecords, type SessionCopy } from '@isoloop/core/move';
import { checkRecords, type LogRecord } from '@isoloop/core/log';
import {
  checkId,
  checkOptions,
  withMethod,
  optional,
  array,
  string,
  boolean,
  type OptionTable,
} from '@isoloop/core/options';
import { postDeletion, timeNow } from './deletions.ts';
import { IndexedDbStore } from './indexed-db-store.ts';

/** Where the conversations are, and which long-term memories forget a deleted one. */
export interface IndexedDbSessionsOptions {
  /**
   * Store of the sessions. Default: a new `IndexedDbStore` with the database `isoloop`, which
   * `IndexedDbMemory` also uses by default.
   */
  readonly store?: IndexedDbStore;
  /**
   * Long-term memories in other stores. `delete` also deletes the session's records in these
   * memories.
   */
  readonly longTermMemories?: readonly { deleteSession?(sessionId: string): Promise<void> }[];
}

/**
 * Exported session as plain JSON, with its conversation, open tool calls, summary, state and title.
 */
export interface SessionExport {
  readonly format: typeof format;
  readonly version: typeof version;
  readonly sessionId: string;
  readonly records: readonly LogRecord[];
}

/** Id of an imported conversation, and whether it may replace another one. */
export interface ImportOptions {
  /** Id of the imported session. Default: the id of the exported session. */
  readonly sessionId?: string;
  /**
   * Whether to delete an existing session with this id first. If false, the import is refused.
   * Default: false.
   */
  readonly replace?: boolean;
}

/** How much storage the site uses, and whether the browser keeps it. */
export interface StorageState {
  /** Whether the browser keeps the site's data when the device is low on storage. */
  readonly persisted: boolean;
  /** Bytes that the site uses. `undefined` if the browser does not report them. */
  readonly usage: number | undefined;
  /** Bytes that the site may use. `undefined` if the browser does not report them. */
  readonly quota: number | undefined;
}

/** Format of a `SessionCopy`, which an endpoint takes, too. */
const format = 'isoloop-session';
const version: SessionCopy['version'] = 5;

/**
 * Lists and manages the conversations in IndexedDB. Works in pages and workers. An agent with an
 * open session sees a change at its next agent call, and a deletion at once. If the store fails,
 * methods reject with `STORAGE_QUOTA` (no storage left) or `STORAGE_FAILED`.
 */
export class IndexedDbSessions {
  readonly #store: IndexedDbStore;
  readonly #longTermMemories: Required<IndexedDbSessionsOptions>['longTermMemories'];

  constructor(options: IndexedDbSessionsOptions = {}) {
    checkOptions('IndexedDbSessions', options, indexedDbSessionsOptions);
    const { store = new IndexedDbStore(), longTermMemories = [] } = options;
    this.#store = store;
    this.#longTermMemories = longTermMemories;
  }

  /**
   * Returns the sessions whose ids start with `startsWith`, ordered by id. Default: all sessions. A
   * session that has moved elsewhere has `movedTo`.
   */
  list(options: { readonly startsWith?: string } = {}): Promise<readonly SessionInfo[]> {
    return listSessions(this.#store, options);
  }

  /** Sets the title of a session. Rejects with `INVALID_INPUT` if no session has that id. */
  async rename(sessionId: string, title: string): Promise<void> {
    await (await this.#openExisting(sessionId)).rename(title);
  }

  /**
   * Deletes a session with its summary and its long-term records. Does nothing if no session has
   * that id. Ends its runs in all tabs, which write nothing more, and empties the chats that show
   * it. A later message begins a new conversation.
   */
  async delete(sessionId: string): Promise<void> {
    await this.#clear(sessionId);
    // Keys of long-term records have the form ltm:<namespace>:<session>:<record>.
    const session = encodeURIComponent(sessionId);
    await this.#store.delete(
      (await this.#store.keys('ltm:')).filter((key) => key.split(':')[2] === session),
    );
    for (const memory of this.#longTermMemories) await memory.deleteSession?.(sessionId);
  }

  /** Returns a whole session as JSON. Rejects with `INVALID_INPUT` if no session has that id. */
  async export(sessionId: string): Promise<SessionExport> {
    return {
      format,
      version,
      sessionId,
      records: await (await this.#openExisting(sessionId)).records(),
    };
  }

  /**
   * Creates a session from the result of `export` and returns its id. Rejects with `INVALID_STATE`
   * if the data is not an exported session or has an unsupported version. Rejects with
   * `INVALID_INPUT` if another session has the id and `replace` is false. A rejected import changes
   * nothing.
   */
  async import(exported: unknown, options: ImportOptions = {}): Promise<string> {
    checkOptions('import()', options, importOptions, 'INVALID_INPUT');
    const { sessionId, replace = false } = options;
    const {
      format: exportFormat,
      version: exportVersion,
      sessionId: ownId,
      records,
    } = Object(exported) as Partial<SessionExport>;
    if (exportFormat !== format)
      throw new AgentError('INVALID_STATE', 'The value is not an exported session.');
    if (exportVersion !== version)
      throw new AgentError(
        'INVALID_STATE',
        `The session's format is ${String(exportVersion)}; this version of the library reads ${version}.`,
      );
    const id = sessionId ?? ownId;
    if (typeof id !== 'string')
      throw new AgentError('INVALID_STATE', 'The exported session has no id.');
    const existing = await this.#find(id);
    if (existing && !replace)
      throw new AgentError('INVALID_INPUT', `There is a session "${id}" already.`);
    // An invalid import must not delete anything.
    checkRecords(records);
    if (existing) await this.#clear(id);
    await adoptRecords(this.#memory(id), records);
    return id;
  }

  /**
   * Asks the browser to keep the site's data when the device is low on storage. Returns whether the
   * browser will keep the data. Some browsers ask the user. Most decide by how often the user
   * visits the site. In a worker, only returns the present state.
   */
  async persist(): Promise<boolean> {
    const { storage } = navigator;
    return (await (storage?.persist?.() ?? storage?.persisted?.())) ?? false;
  }

  /** Returns how much storage the site uses, and whether the browser keeps the data. */
  async storage(): Promise<StorageState> {
    const { storage } = navigator;
    const [persisted = false, { usage, quota } = {}] = await Promise.all([
      storage?.persisted?.(),
      storage?.estimate?.(),
    ]);
    return { persisted, usage, quota };
  }

  async #clear(sessionId: string): Promise<void> {
    // A run that begins from now on finds the session empty, or cannot write.
    const at = timeNow();
    await this.#memory(sessionId).clear();
    postDeletion(sessionId, at);
  }

  #memory(sessionId: string): SessionMemory {
    return new SessionMemory(this.#store, sessionId);
  }

  async #find(sessionId: string): Promise<SessionInfo | undefined> {
    checkId(sessionId, 'session id');
    return (await this.list({ startsWith: sessionId })).find(
      (session) => session.sessionId === sessionId,
    );
  }

  async #openExisting(sessionId: string): Promise<SessionMemory> {
    if (!(await this.#find(sessionId)))
      throw new AgentError('INVALID_INPUT', `There is no session "${sessionId}".`);
    return this.#memory(sessionId);
  }
}

const importOptions: OptionTable<ImportOptions> = {
  sessionId: optional(string),
  replace: optional(boolean),
};

const indexedDbSessionsOptions: OptionTable<IndexedDbSessionsOptions> = {
  store: optional(withMethod('get')),
  longTermMemories: optional(array),
};
