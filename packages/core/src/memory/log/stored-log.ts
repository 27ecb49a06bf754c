import { AgentError } from '../../error/agent-error.ts';
import { reportFailure } from '../../error/report-failure.ts';
import type { SessionMemoryOptions } from '../session-memory-options.ts';
import { maxAttempts, backOff } from '../store/back-off.ts';
import type { KeyValueStore } from '../store/key-value-store.ts';
import type { Flushes, LogRecord } from './log-record.ts';
import { makeWrite } from './log-write.ts';
import { newStartOf } from './lost-start.ts';
import { newestSnapshot, SessionStore } from './session-store.ts';
import { RestartableReads } from './restartable-reads.ts';
import type { SessionFold } from './session-fold.ts';
import { flushesOf, inOrder, replacedBy, type Batch } from './stored-batch.ts';
import { checkNotMoved, withLostRefs, type Head, type Ownership } from './stored-head.ts';

/** Options of a `SessionMemory` with their defaults. */
export type SessionLogOptions = Omit<SessionMemoryOptions, 'durability' | 'requireCompareAndSet'> &
  Required<Pick<SessionMemoryOptions, 'generateId' | 'now' | 'compactAfter'>>;

/** Functions of the caller that a flush uses. */
export interface FlushContext {
  /**
   * Receives all records after the flush had to read the log again, because another writer has
   * written.
   */
  onReread(flushes: Flushes): void;
  /** Returns the state of the session after the pending records, if the log was read. */
  fold(): SessionFold | undefined;
}

/** A write of a batch whose outcome is unknown. */
interface UnsureWrite {
  readonly ref: string;
  /** Number of pending records in the batch. */
  readonly count: number;
  /** Text of the head that the write replaces. */
  readonly expected: string | undefined;
}

/**
 * Maximum number of reads of a log while another writer deletes batches that it has replaced with a
 * snapshot.
 */
const maxReads = 3;

/** The log of a session, as `SessionMemory` uses it. */
export type Log = Pick<StoredLog, 'version' | 'add' | 'load' | 'flush' | 'clear'> &
  Partial<
    Pick<
      StoredLog,
      | 'wasDeleted'
      | 'drop'
      | 'claim'
      | 'release'
      | 'hasChanged'
      | 'flushes'
      | 'readAgain'
      | 'unload'
    >
  >;

/**
 * Append-only log of a session's records in a store. Each flush writes the new records as one batch
 * under a new key, then the head, which names the batches. The caller must run one operation at a
 * time.
 */
export class StoredLog {
  readonly #store: SessionStore;
  readonly #options: SessionLogOptions;
  readonly #writerId: string;
  #head: Head | undefined;
  /**
   * Text of the head as last seen in the store. A different text means that another writer wrote.
   */
  #seenHead: string | undefined;
  /** The batches that this writer has read or written. They are not read again. */
  #batches = new Map<string, Batch>();
  readonly #pending: LogRecord[] = [];
  readonly #reads = new RestartableReads();
  /**
   * Writes since the last success. A refused write counts too: the store may have repeated a
   * request that had taken effect, and may have answered the repetition.
   */
  #unsureWrites: readonly UnsureWrite[] = [];
  #hasWarned = false;
  /** Whether the store has lost a write that it acknowledged. The next flush writes it again. */
  #hasLostWrite = false;
  /**
   * Whether the next flush compacts the log, because the log was long and complete when it was
   * read.
   */
  #wantsSnapshot = false;
  /** The ownership that this writer puts into the head. Default: the one in the head. */
  #claimedOwnership: Ownership | undefined;
  /**
   * Whether the last read did not find the log of the read before. A person, another writer or the
   * store has deleted it.
   */
  wasDeleted = false;
  /** Whether another writer has claimed the session after this one, or this one gave it up. */
  #hasLostOwnership = false;

  constructor(store: KeyValueStore, sessionId: string, options: SessionLogOptions) {
    this.#store = new SessionStore(store, sessionId);
    this.#options = options;
    this.#writerId = options.generateId();
  }

  get version(): number {
    return this.#head?.version ?? 0;
  }

  /** The records of each known batch by the name of the batch, the oldest first. */
  get flushes(): ReadonlyMap<string, readonly LogRecord[]> {
    return new Map(inOrder(this.#batches).map((ref) => [ref, this.#batches.get(ref)!.records]));
  }

  /**
   * Makes this writer the owner of the session. The next flush writes its id and the next epoch to
   * the head. Drops pending records that were refused before.
   */
  async claim(): Promise<Flushes> {
    if (this.#hasLostOwnership) {
      this.#pending.length = 0;
      this.#unsureWrites = [];
    }
    const flushes = await this.load();
    this.#hasLostOwnership = false;
    this.#claim();
    return flushes;
  }

  #claim(): void {
    const { epoch = 0 } = this.#head?.ownership ?? {};
    this.#claimedOwnership = { owner: this.#writerId, epoch: epoch + 1 };
  }

  /** Gives up the session. This writer can no longer write. */
  release(): void {
    this.#hasLostOwnership = true;
  }

  /** Adds records that the next flush writes. */
  add(records: readonly LogRecord[]): void {
    this.#checkOwner();
    this.#pending.push(...records);
  }

  /**
   * Returns all records: first the stored records, then the pending records. If the log was
   * deleted, drops the pending records that a new log can't have. Rejects with
   * `SESSION_MOVED` if the session belongs to another place.
   */
  async load(): Promise<Flushes> {
    const reading = await this.#reads.take(() => this.#read());
    const { text, head, knownBatches, batches } = reading;
    const { detectsWriters } = this.#store;
    const replacedRefs = replacedBy(batches);
    const snapshot = newestSnapshot(batches);
    const lostRefs = [...knownBatches.keys()].filter(
      (ref) => !batches.has(ref) && !replacedRefs.has(ref) && !(detectsWriters && ref < snapshot),
    );
    const isStored = (ref: string): boolean => batches.has(ref) || replacedRefs.has(ref);
    await this.#dropStored(text, isStored);
    for (const ref of lostRefs) batches.set(ref, knownBatches.get(ref)!);

    // With `compareAndSet`, no other writer can have hidden these batches, so the store may not
    // have them. The next flush writes their records again instead of their names.
    const hasLostWrite = detectsWriters && lostRefs.length > 0;
    const isNew = hasLostWrite && !this.#hasLostWrite;
    this.#hasLostWrite = hasLostWrite;
    this.#wantsSnapshot = reading.wantsSnapshot || hasLostWrite;
    this.wasDeleted = this.#isDeleted(head, [batches, replacedRefs, knownBatches]);
    if (this.wasDeleted) this.#pending.splice(0, Infinity, ...newStartOf(this.#pending));
    this.#head = head && withLostRefs(head, hasLostWrite ? [] : lostRefs, this.version);
    this.#seenHead = text;
    this.#batches = batches;
    if (isNew) this.#report(this.#store.lostWriteError());
    checkNotMoved(this.#head);
    return [...flushesOf(reading), [...this.#pending]];
  }

  /**
   * Returns whether the store has the last known batch no more, because the log was deleted.
   * `head`: head in the store. `batchSets`: batches that the log has, that it has replaced, or that
   * the store has in spite of another head.
   */
  #isDeleted(head: Head | undefined, batchSets: readonly { has(ref: string): boolean }[]): boolean {
    const lastHead = this.#head;
    if (!lastHead || head?.logId === lastHead.logId) return false;
    return !batchSets.some((refs) => refs.has(lastHead.last));
  }

  /** Drops all pending records. Use it for the records of a run whose session was deleted. */
  drop(): void {
    this.#pending.length = 0;
    this.#unsureWrites = [];
    this.#hasLostWrite = false;
  }

  /**
   * Removes the pending records of a write that took effect, whatever the store answered. Deletes
   * the batches of writes that can't take effect any more, because the head has changed. While the
   * head is unchanged, a write may still take effect. `isStored`: returns whether the log names the
   * batch.
   */
  async #dropStored(text: string | undefined, isStored: (ref: string) => boolean): Promise<void> {
    const storedWrite = this.#unsureWrites.findLast(({ ref }) => isStored(ref));
    const endedWrites = this.#unsureWrites.filter(
      ({ expected }) => storedWrite || expected !== text,
    );
    this.#unsureWrites = this.#unsureWrites.filter((write) => !endedWrites.includes(write));
    this.#pending.splice(0, storedWrite?.count ?? 0);
    const unstoredRefs = endedWrites.map(({ ref }) => ref).filter((ref) => !isStored(ref));
    if (this.#store.detectsWriters) await this.#store.deleteBatches(unstoredRefs);
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
        if (mustClaim && this.#claimedOwnership) this.#claim();
        this.#checkOwner();
      }
      if ((this.#isIdle && !mustClaim) || (await this.#write(context))) return;
    }
    const refs = this.#unsureWrites.map(({ ref }) => ref);
    this.#unsureWrites = [];
    await this.#deleteUnnamed(refs);
    throw new AgentError('STORAGE_FAILED', 'Other writers kept changing the session', {
      retryable: true,
    });
  }

  /** Deletes every key of the session. */
  async clear(): Promise<void> {
    this.#checkOwner();
    await this.load().catch(() => {});
    await this.#store.clear([...this.#batches.keys()]);
    this.#head = undefined;
    this.#seenHead = undefined;
    this.#batches.clear();
    this.drop();
    this.#wantsSnapshot = false;
  }

  /** Whether there is nothing to write. */
  get #isIdle(): boolean {
    return this.#pending.length === 0 && !this.#hasLostWrite;
  }

  #checkOwner(): void {
    const { owner, epoch = 0 } = this.#head?.ownership ?? {};
    const claim = this.#claimedOwnership;
    if (claim && owner !== this.#writerId && epoch >= claim.epoch) this.#hasLostOwnership = true;
    if (this.#hasLostOwnership)
      throw new AgentError('SESSION_CONFLICT', 'Another writer has taken the session over.', {
        retryable: true,
      });
  }

  async #read() {
    for (let attempt = 1; ; attempt++) {
      const store = this.#store;
      const text = await store.head();
      const without = this.#unsureWrites.map(({ ref }) => ref);
      const { head: storedHead, error: headError } = await store.parseHead(text, { without });
      if (headError) this.#options.onDamage?.(headError);
      const knownBatches = await this.#ownBatches(storedHead);
      const head = storedHead ?? this.#lostHead(knownBatches);
      const namedBatches = await store.readBatches(head, knownBatches);
      const isMissing = namedBatches.unread.some(({ error }) => error.retryable);
      if (isMissing && attempt < maxReads && (await store.head()) !== text) continue;
      const { batches, unread } = await store.readUnnamed(head, namedBatches);
      for (const { error } of unread) this.#report(error);
      const refs = [...batches.keys()];
      const isLong = refs.length >= this.#options.compactAfter;
      const wantsSnapshot = refs.some((ref) => !knownBatches.has(ref))
        ? unread.length === 0 && isLong
        : this.#wantsSnapshot;
      return { text, head, knownBatches, batches: new Map(batches), unread, wantsSnapshot };
    }
  }

  /**
   * Returns the batches of this writer that still belong to the session. A head of another log
   * means that the session was cleared, or that two writers began it at once, in a store without
   * `compareAndSet`. Only then does the store still have the batches.
   */
  async #ownBatches(head: Head | undefined): Promise<ReadonlyMap<string, Batch>> {
    if (head?.logId === this.#head?.logId) return this.#batches;
    if (this.#store.detectsWriters) return new Map();
    const storedValues = await this.#store.readValues([...this.#batches.keys()]);
    return new Map([...this.#batches].filter(([ref]) => storedValues.has(ref)));
  }

  /**
   * Returns this writer's head if a store without `compareAndSet` has lost the head only. A session
   * that was cleared has no batches. The next flush writes the head again.
   */
  #lostHead(storedBatches: ReadonlyMap<string, Batch>): Head | undefined {
    const hasAll = storedBatches.size > 0 && storedBatches.size === this.#batches.size;
    return hasAll && !this.#store.detectsWriters ? this.#head : undefined;
  }

  #report(error: AgentError): void {
    const { onDamage } = this.#options;
    if (onDamage) onDamage(error);
    else throw error;
  }

  /** Returns whether another writer has written since the last read or write of this writer. */
  async hasChanged(): Promise<boolean> {
    const text = await this.#reads.take(() => this.#store.head());
    const hasChanged = text !== this.#seenHead;
    if (hasChanged && !this.#store.detectsWriters) this.#warn();
    return hasChanged;
  }

  /** Warns once of a second writer in a store without `compareAndSet`. */
  #warn(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const message =
      'Another writer changed the session. The store has no compareAndSet, so records can be lost.';
    const warning = new AgentError('SESSION_CONFLICT', message);
    reportFailure('SessionMemory:', this.#options.onWarning, warning);
  }

  /** Drops the records in memory, so that the next `load` reads all of them. */
  unload(): void {
    this.#batches.clear();
    this.#wantsSnapshot = false;
  }

  /** Starts the current read again, because the store may never answer it. */
  readAgain(): void {
    this.#reads.restart();
  }

  /**
   * Returns whether to read the log before a write. With `compareAndSet`, the write itself detects
   * other writers.
   */
  async #isOutdated(): Promise<boolean> {
    if (this.#unsureWrites.length > 0) return true;
    return !this.#store.detectsWriters && this.hasChanged();
  }

  /**
   * Writes one batch, then the head. If the store refuses the write, returns false. The next `load`
   * finds out whether the write took effect nevertheless.
   */
  async #write(context: FlushContext): Promise<boolean> {
    const count = this.#pending.length;
    const fold = context.fold();
    const snapshot = this.#wantsSnapshot && fold?.isWhole ? fold.records() : undefined;
    const replaces = snapshot && [...this.#batches.keys()];
    const { batch, ref, entries, head, headText } = makeWrite(this.#store, this.#head, {
      ...this.#options,
      writerId: this.#writerId,
      title: fold?.title,
      ownership: this.#claimedOwnership,
      records: snapshot ?? [...this.#pending],
      replaces,
    });
    const expected = this.#seenHead;
    this.#unsureWrites = [...this.#unsureWrites, { ref, count, expected }];
    if (!(await this.#store.write(entries, headText, expected))) return false;
    this.#hasLostWrite = false;
    await this.#dropStored(headText, (each) => each === ref);
    this.#head = head;
    this.#seenHead = headText;
    if (replaces) await this.#forget(replaces);
    this.#batches.set(ref, batch);
    return true;
  }

  /**
   * Deletes the batches that a new snapshot replaced. Without `compareAndSet`, a reader may still
   * see an older head and needs the batches that it names. In such a store, deletes only the
   * batches that an earlier snapshot replaced.
   */
  async #forget(refs: readonly string[]): Promise<void> {
    this.#wantsSnapshot = false;
    const earlierRefs = replacedBy(this.#batches);
    const deletedRefs = this.#store.detectsWriters ? [...refs, ...earlierRefs] : [...earlierRefs];
    this.#batches.clear();
    await this.#deleteUnnamed(deletedRefs);
  }

  /** Deletes batches if the head in the store is the one that this writer knows. */
  async #deleteUnnamed(refs: readonly string[]): Promise<void> {
    const hasChanged = await this.hasChanged().catch(() => true);
    if (!hasChanged) await this.#store.deleteBatches(refs);
  }
}
