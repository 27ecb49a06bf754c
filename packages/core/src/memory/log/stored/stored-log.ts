import { AgentError } from '../../../error/agent-error.ts';
import type { SessionMemoryOptions } from '../../session-memory-options.ts';
import { maxAttempts, backOff } from '../../store/back-off.ts';
import type { KeyValueStore } from '../../store/key-value-store.ts';
import { KnownLog } from './known-log.ts';
import type { FlushContext, Log, LogContent } from '../log.ts';
import type { LogRecord } from '../log-record.ts';
import { makeWrite } from './log-write.ts';
import { PendingRecords } from './pending-records.ts';
import { SessionStore } from './session-store.ts';
import { checkNotMoved } from './stored-head.ts';
import { WriterClaim } from './writer-claim.ts';

/** Options of a `SessionMemory` with their defaults. */
type SessionLogOptions = Omit<SessionMemoryOptions, 'durability' | 'requireCompareAndSet'> &
  Required<Pick<SessionMemoryOptions, 'generateId' | 'now' | 'compactAfter'>>;

/**
 * Append-only log of a session's records in a store. Each flush writes the new records as one batch
 * under a new key, then the head, which names the batches. The caller must run one operation at a
 * time.
 */
export class StoredLog implements Log {
  readonly #store: SessionStore;
  readonly #options: SessionLogOptions;
  readonly #known: KnownLog;
  readonly #pending = new PendingRecords();
  readonly #claim: WriterClaim;

  constructor(store: KeyValueStore, sessionId: string, options: SessionLogOptions) {
    this.#store = new SessionStore(store, sessionId);
    this.#options = options;
    this.#known = new KnownLog(this.#store, options);
    this.#claim = new WriterClaim(options.generateId());
  }

  get version(): number {
    return this.#known.head?.version ?? 0;
  }

  /** The records of each known batch by the name of the batch, the oldest first. */
  get flushes(): ReadonlyMap<string, readonly LogRecord[]> {
    return this.#known.flushes;
  }

  /**
   * Makes this writer the owner of the session. The next flush writes its id and the next epoch to
   * the head. Drops pending records that were refused before.
   */
  async claim(): Promise<LogContent> {
    if (this.#claim.isLost) this.#pending.drop();
    const content = await this.load();
    this.#claim.renew(this.#known.head?.ownership);
    return content;
  }

  /** Gives up the session. This writer can no longer write. */
  release(): void {
    this.#claim.release();
  }

  /** Adds records that the next flush writes. */
  add(records: readonly LogRecord[]): void {
    this.#checkOwner();
    this.#pending.add(records);
  }

  /**
   * Returns all records. If the log was deleted, drops the pending records that a new log can't
   * have. Rejects with `SESSION_MOVED` if the session belongs to another place.
   */
  async load(): Promise<LogContent> {
    const known = this.#known;
    const hadLostWrite = known.hasLostWrite;
    const content = await known.read(this.#pending.unsureRefs);
    await this.#settleWrites((ref) => known.has(ref));
    if (content.wasDeleted) this.#pending.keepNewStart();
    if (known.hasLostWrite && !hadLostWrite) known.report(this.#store.lostWriteError());
    checkNotMoved(known.head);
    return { ...content, pending: this.#pending.list() };
  }

  drop(): void {
    this.#pending.drop();
    this.#known.forgetLostWrite();
  }

  /**
   * Writes the pending records. With `mustClaim`, writes the head even without pending records, so
   * that this writer replaces any owner.
   */
  async flush(context: FlushContext, mustClaim = false): Promise<void> {
    this.#checkOwner();
    if (this.#isIdle && !mustClaim) return;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (attempt > 0) await backOff(attempt, this.#options);
      if (attempt > 0 || (await this.#isOutdated())) {
        context.onReread(await this.load());
        if (mustClaim) this.#claim.renew(this.#known.head?.ownership);
        this.#checkOwner();
      }
      if ((this.#isIdle && !mustClaim) || (await this.#write(context))) return;
    }
    await this.#deleteUnnamed(this.#pending.forgetWrites());
    throw new AgentError('STORAGE_FAILED', 'Other writers kept changing the session', {
      retryable: true,
    });
  }

  async clear(): Promise<void> {
    this.#checkOwner();
    await this.load().catch(() => {});
    await this.#store.clear(this.#known.refs);
    this.#known.forget();
    this.#pending.drop();
  }

  /** Returns whether another writer has written since the last read or write of this writer. */
  hasChanged(): Promise<boolean> {
    return this.#known.hasChanged();
  }

  /** Drops the records in memory, so that the next `load` reads all of them. */
  unload(): void {
    this.#known.unload();
  }

  /** Starts the current read again, because the store may never answer it. */
  readAgain(): void {
    this.#known.readAgain();
  }

  /** Whether there is nothing to write. */
  get #isIdle(): boolean {
    return this.#pending.isEmpty && !this.#known.hasLostWrite;
  }

  #checkOwner(): void {
    this.#claim.check(this.#known.head?.ownership);
  }

  /**
   * Returns whether to read the log before a write. With `compareAndSet`, the write itself detects
   * other writers.
   */
  async #isOutdated(): Promise<boolean> {
    if (this.#pending.unsureRefs.length > 0) return true;
    return !this.#store.detectsWriters && this.hasChanged();
  }

  /**
   * Writes one batch, then the head. If the store refuses the write, returns false. The next `load`
   * finds out whether the write took effect nevertheless.
   */
  async #write(context: FlushContext): Promise<boolean> {
    const known = this.#known;
    const fold = context.fold();
    const snapshot = known.wantsSnapshot && fold?.isWhole ? fold.records() : undefined;
    const write = makeWrite(this.#store, known.head, {
      ...this.#options,
      writerId: this.#claim.writerId,
      title: fold?.title,
      ownership: this.#claim.ownership,
      records: snapshot ?? this.#pending.list(),
      replaces: snapshot && known.refs,
    });
    this.#pending.beginWrite(write.ref, known.headText);
    if (!(await this.#store.write(write.entries, write.headText, known.headText))) return false;
    const deletableRefs = known.addWrite(write);
    await this.#settleWrites((ref) => ref === write.ref);
    if (snapshot) await this.#deleteUnnamed(deletableRefs);
    return true;
  }

  /** Deletes the batches of writes that can no longer take effect. */
  async #settleWrites(isStored: (ref: string) => boolean): Promise<void> {
    const refs = this.#pending.settle(this.#known.headText, isStored);
    if (this.#store.detectsWriters) await this.#store.deleteBatches(refs);
  }

  /** Deletes batches if the head in the store is the one that this writer knows. */
  async #deleteUnnamed(refs: readonly string[]): Promise<void> {
    const hasChanged = await this.hasChanged().catch(() => true);
    if (!hasChanged) await this.#store.deleteBatches(refs);
  }
}
