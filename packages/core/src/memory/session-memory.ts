import { misconfigured, invalidInput, type AgentError } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { oneOf, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { AgentStatus } from '../event/agent-status.ts';
import type { KeptConversation } from '../message/conversation/conversation.ts';
import type { Msg } from '../message/msg.ts';
import { parseMessages } from '../message/validate-message.ts';
import type { ToolSet } from '../tool/set/tool-set.ts';
import { DeletionGuard } from './deletion-guard.ts';
import { LoadedSession } from './loaded-session.ts';
import { suspendedNote } from './log/call-notes.ts';
import type { FlushContext, Log, LogContent } from './log/log.ts';
import { recordsOf, type Flushes, type LogNote, type LogRecord } from './log/log-record.ts';
import { isStart } from './log/lost-start.ts';
import type { SessionFold } from './log/session-fold.ts';
import { shortId } from './log/stored/session-keys.ts';
import type { Values } from './log/session-values.ts';
import type { SessionView } from './log/session-view.ts';
import { deletedError } from './log/stored/stored-head.ts';
import { StoredLog } from './log/stored/stored-log.ts';
import type { LogMemory, ReplyStore, RunEnd, WriteOptions } from './memory.ts';
import { OperationQueue } from './operation-queue.ts';
import { replyStore } from './reply-store.ts';
import { memoryOptions, type SessionMemoryOptions } from './session-memory-options.ts';
import type { KeyValueStore, StoreFeatures } from './store/key-value-store.ts';
import { titleKey } from './store/storage-keys.ts';

/**
 * Keeps a conversation in a store, so that another process or a later visit continues it. The
 * conversation is an append-only log: an append costs the same at any length.
 *
 * ```ts
 * const memory = new SessionMemory(store, 'ann');
 * const agent = new ReActAgent({ name: 'assistant', model, memory });
 * ```
 *
 * Records (messages and notes) that could not be written stay pending: `read` includes them, and
 * the next flush writes them. If `append` rejects, call `flush`; do not append the messages again.
 *
 * In a store with `compareAndSet`, two writers on one session lose no record. If another writer has
 * written, a flush reads the log again and adds its own records at the end. In another store, if
 * two writers flush at the same moment, the second write hides the records of the first writer. The
 * first writer restores its records at its next flush. Without a next flush, they are lost.
 * `requireCompareAndSet` refuses such a store.
 *
 * A person, another writer or the browser may delete the session. A new log then begins only with
 * a new message of a user. Until then, all other writes, also those of an active run, reject with
 * `SESSION_DELETED`.
 */
export class SessionMemory implements LogMemory {
  readonly sessionId: string;
  /** Features of the store. `compareAndSet`: the store refuses a write of a second writer. */
  readonly features: StoreFeatures;
  readonly keptConversation: KeptConversation;
  /** The log of the session. A subclass may set another kind of log in its constructor. */
  protected log: Log;
  readonly #durability: 'step' | 'turn';
  readonly #session = new LoadedSession();
  readonly #guard = new DeletionGuard();
  readonly #operations = new OperationQueue(() => this.#storedLog?.readAgain());

  /**
   * Throws `INVALID_INPUT` for a session id that is not a string, is blank or, percent-encoded,
   * longer than 400 characters. Throws `CONFIGURATION` for an invalid option.
   */
  constructor(store: KeyValueStore, sessionId: string, options: SessionMemoryOptions = {}) {
    checkOptions('SessionMemory', options, sessionMemoryOptions);
    const {
      durability = 'step',
      generateId = shortId,
      now = Date.now,
      compactAfter = 256,
      requireCompareAndSet = false,
      ...others
    } = options;
    if (requireCompareAndSet && !store.compareAndSet)
      throw misconfigured(
        'The store of the session has no compareAndSet, so two writers may lose records. ' +
          'Use another store, or leave out `requireCompareAndSet`.',
      );
    this.sessionId = sessionId;
    this.features = store.features;
    const logOptions = { ...others, generateId, now, compactAfter };
    this.log = new StoredLog(store, sessionId, logOptions);
    this.keptConversation = this.#session.conversation;
    this.#durability = durability;
  }

  /**
   * The session's values, which all agents with this memory share. The first read of the log adds
   * the log's values. Earlier updates are then repeated on the log's values.
   */
  get state(): Values {
    return this.#session.values;
  }

  /** Number of writes to the log that this memory knows of. 0 before the first read. */
  get sessionVersion(): number {
    return this.log.version;
  }

  /** Number of messages in memory. 0 before the first read and after `unload`. */
  get loadedMessages(): number {
    return this.#session.fold?.messages.length ?? 0;
  }

  /** Rejects with `INVALID_MESSAGE`, and appends nothing, if a message is invalid. */
  append(messages: readonly Msg[], { later = false }: WriteOptions = {}): Promise<void> {
    return this.run(() => this.#add(recordsOf(parseMessages(messages)), later));
  }

  /**
   * Replaces the message that has the same id. Rejects with the same errors as `append`, and with
   * `INVALID_INPUT` if no message has this id.
   */
  replace(message: Msg): Promise<void> {
    return this.run(async () => {
      parseMessages([message]);
      const { messages } = await this.#load();
      if (!messages.some(({ id }) => id === message.id))
        throw invalidInput(`There is no message "${message.id}" to replace.`);
      return this.#add([{ kind: 'replace', message }]);
    });
  }

  delete(ids: readonly string[], options?: WriteOptions): Promise<void> {
    return this.rewrite(ids, [], options);
  }

  /** Removes messages and appends others in one write. Rejects with the same errors as `append`. */
  rewrite(
    removedIds: readonly string[],
    messages: readonly Msg[],
    { later = false }: WriteOptions = {},
  ): Promise<void> {
    return this.run(async () => {
      const records = recordsOf(parseMessages(messages));
      const idSet = new Set(removedIds);
      const fold = await this.#load();
      const ids = fold.messages.map(({ id }) => id).filter((id) => idSet.has(id));
      if (ids.length) records.unshift({ kind: 'truncate', ids });
      if (later && !messages.length) this.#session.keepRemovals(records);
      else if (records.length) await this.#add(records, later);
    });
  }

  read(): Promise<readonly Msg[]> {
    return this.run(async () => (await this.#load()).messages);
  }

  note(notes: readonly LogNote[], options?: { readonly write?: boolean }): Promise<void> {
    const adding = this.run(() => this.#addToLog(notes));
    // The flush comes later, so that one write stores the notes of all tools that start together.
    return options?.write && this.#durability === 'step' ? adding.then(() => this.flush()) : adding;
  }

  restore(status: AgentStatus, tools: ToolSet, signal?: AbortSignal): Promise<void> {
    return this.#operations.runUntil(signal, async () => {
      // Another process, such as the worker of another tab, may have continued the session.
      const isOld = this.#session.fold && (await this.#storedLog?.hasChanged());
      const fold = await (isOld ? this.#reload() : this.#load());
      this.#session.restore(status, tools, fold);
      // Only a run has a signal.
      if (signal) this.#guard.beginRun();
    });
  }

  /** Returns the session's current state. The object changes with later appends and notes. */
  view(): Promise<SessionView> {
    return this.run(() => this.#load());
  }

  /** Absent with `durability: 'turn'`: its notes reach the store too late. */
  get replies(): ReplyStore | undefined {
    return this.#durability === 'step' ? replyStore(this) : undefined;
  }

  /**
   * Returns the shortest list of records that describes the session, for `adoptRecords`. Rejects
   * with `STORAGE_FAILED` if a part of the log can't be read.
   */
  records(): Promise<readonly LogRecord[]> {
    return this.run(async () => {
      const fold = await this.#load();
      fold.checkWhole();
      return structuredClone(fold.records());
    });
  }

  /**
   * Returns the records of each write to the log by the name of the write, the oldest first.
   * Rejects with `CONFIGURATION` if the log has no such list, and with `STORAGE_FAILED` if a part
   * of the log can't be read.
   */
  flushes(): Promise<ReadonlyMap<string, readonly LogRecord[]>> {
    return this.run(async () => {
      (await this.#load()).checkWhole();
      if (!this.#storedLog) throw unavailableError('checkpoints');
      return this.#storedLog.flushes;
    });
  }

  /** Adds records in one write. */
  write(records: readonly LogRecord[]): Promise<void> {
    return this.run(async () => {
      await this.#addToLog(records);
      await this.#flush();
    });
  }

  /** Sets the session's title for lists. An empty title removes it. */
  async rename(title: string): Promise<void> {
    await this.note([{ kind: 'state', state: { [titleKey]: title || null } }]);
    await this.flush();
  }

  /**
   * Makes this memory the owner of the session and reads the log again. Later writes of an earlier
   * owner reject with `SESSION_CONFLICT`. Rejects with `SESSION_MOVED` if the session belongs to
   * another place. Memories that never claimed the session can still write. With `write: false`,
   * the claim takes effect at this memory's first write. Use that only if no earlier owner is
   * active. Drops pending records that were refused before. Reliable only in stores with
   * `compareAndSet`.
   */
  claim({ write = true }: { readonly write?: boolean } = {}): Promise<void> {
    return this.run(async () => {
      this.#guard.allowWrites();
      const log = this.#storedLog;
      if (!log) throw unavailableError('owner');
      this.#session.load(await log.claim());
      if (write) await this.#flush((context) => log.flush(context, true));
    });
  }

  /**
   * Gives up the session, after all earlier operations of this memory have ended. Later writes
   * reject with `SESSION_CONFLICT`.
   */
  release(): Promise<void> {
    return this.run(async () => this.#storedLog?.release());
  }

  flush(end?: RunEnd): Promise<void> {
    return this.run(async () => {
      try {
        if (end) await this.#end(end);
        else if (this.#session.removals.length) await this.#addToLog([]);
        await this.#flush();
      } finally {
        if (end) this.#guard.endRun();
      }
    });
  }

  /**
   * Drops the messages and records in memory if there are more than `above` messages (default 0).
   * The next operation reads them again. Pending records stay.
   */
  unload({ above = 0 }: { readonly above?: number } = {}): Promise<void> {
    return this.run(async () => {
      if (this.loadedMessages <= above) return;
      this.#storedLog?.unload();
      this.#session.unload();
    });
  }

  /**
   * Returns whether the session was deleted since this memory has read it. If so, drops what this
   * memory has, and refuses further writes of the active run.
   */
  checkDeleted(): Promise<boolean> {
    return this.run(async () => {
      if (!this.#session.fold || !(await this.#storedLog?.hasChanged()))
        return this.#guard.refusesWrites;
      const content = await this.log.load();
      this.#take(content);
      return this.#guard.refusesWrites || content.wasDeleted === true;
    });
  }

  /** Refuses further writes with `SESSION_DELETED`, until a user's message begins a new run. */
  refuseWrites(): Promise<void> {
    return this.run(async () => {
      this.#drop();
    });
  }

  clear(): Promise<void> {
    return this.run(async () => {
      await this.log.clear();
      this.#drop();
      this.#guard.refuseRun();
    });
  }

  /** Runs one operation at a time, in call order. */
  protected run<T>(operation: () => Promise<T>): Promise<T> {
    return this.#operations.run(operation);
  }

  /** The log, if the store's reads do not lag. Only such a log notices other writers. */
  get #storedLog(): StoredLog | undefined {
    return this.log instanceof StoredLog ? this.log : undefined;
  }

  async #load(): Promise<SessionFold> {
    return this.#session.fold ?? this.#reload();
  }

  async #reload(): Promise<SessionFold> {
    return this.#take(await this.log.load());
  }

  /** Takes over what the log has. If the session was deleted, ends the active run. */
  #take(content: LogContent): SessionFold {
    const isEnded = content.wasDeleted && this.#guard.isInRun;
    return isEnded ? this.#drop(content.stored) : this.#session.load(content);
  }

  /**
   * Drops the deleted session and what is pending, and refuses writes. `stored`: what the store has
   * in its place.
   */
  #drop(stored: Flushes = []): SessionFold {
    this.#guard.refuseWrites();
    this.log.drop();
    this.#session.clear();
    return this.#session.load({ stored, pending: [] });
  }

  /**
   * Adds a note about the end of a run. A run that never began, such as a refused one, gets no
   * note, and the removals that waited for its first write are undone.
   */
  async #end({ runId, reason, calls }: RunEnd): Promise<void> {
    if ((await this.#load()).openRunId === runId)
      return this.#addToLog([...suspendedNote(calls), { kind: 'run-end', runId, reason }]);
    this.#session.undoRemovals();
  }

  async #add(records: readonly LogRecord[], later = false): Promise<void> {
    await this.#addToLog(records);
    if (!later && this.#durability === 'step') await this.#flush();
  }

  async #addToLog(records: readonly LogRecord[]): Promise<void> {
    this.#guard.check(records);
    this.log.add([...this.#session.removals, ...records]);
    this.#session.add(records);
    if (!this.#session.fold) await this.#reload();
    this.#session.putValues(records);
  }

  async #flush(
    write: (context: FlushContext) => Promise<void> = (context) => this.log.flush(context),
  ): Promise<void> {
    if (this.#guard.refusesWrites) return this.#refuse();
    if (this.#session.needsLog) await this.#load();
    this.#noteState();
    await write({
      fold: () => this.#session.fold,
      onReread: (content) => {
        if (content.wasDeleted && !content.pending.some(isStart)) this.#drop(content.stored);
        else this.#take(content);
        if (this.#guard.refusesWrites) throw deletedError();
        this.#noteState();
      },
    });
    this.#session.forgetWritten();
  }

  /** Drops the pending notes, with which no new log begins. A run learns so of the deletion. */
  async #refuse(): Promise<void> {
    const { stored, pending } = await this.log.load();
    this.#drop(stored);
    if (this.#guard.isInRun || pending.length) throw deletedError();
  }

  /** Adds notes about the session's values and tool groups that differ from the log's. */
  #noteState(): void {
    const notes = this.#session.stateNotes();
    if (!notes.length) return;
    this.log.add(notes);
    this.#session.fold?.add(notes);
  }
}

const sessionMemoryOptions: OptionTable<SessionMemoryOptions> = {
  durability: optional(oneOf('step', 'turn')),
  ...memoryOptions,
};

/** Returns the error for what only a log in a consistent store has. */
function unavailableError(what: string): AgentError {
  const message = `This memory has no ${what}, because reads of its store may lag behind writes.`;
  return misconfigured(message);
}
