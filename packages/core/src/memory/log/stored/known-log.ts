import { AgentError } from '../../../error/agent-error.ts';
import { reportFailure } from '../../../error/report-failure.ts';
import type { SessionMemoryOptions } from '../../session-memory-options.ts';
import type { LogContent } from '../log.ts';
import type { LogRecord } from '../log-record.ts';
import { deletableAfter, type LogWrite } from './log-write.ts';
import { RestartableReads } from './restartable-reads.ts';
import { newestSnapshot, type SessionStore } from './session-store.ts';
import { flushesOf, inOrder, replacedBy, type Batch } from './stored-batch.ts';
import { withLostRefs, type Head } from './stored-head.ts';

/** When a log is compacted, and who hears of its damage and of a second writer. */
type KnownLogOptions = Pick<SessionMemoryOptions, 'onDamage' | 'onWarning'> &
  Required<Pick<SessionMemoryOptions, 'compactAfter'>>;

/**
 * Maximum number of reads of a log while another writer deletes batches that it has replaced with a
 * snapshot.
 */
const maxReads = 3;

/** What a writer knows of its log in the store, from its last read or write. */
export class KnownLog {
  readonly #store: SessionStore;
  readonly #options: KnownLogOptions;
  readonly #reads = new RestartableReads();
  #head: Head | undefined;
  #headText: string | undefined;
  /** The batches that this writer has read or written. They are not read again. */
  #batches = new Map<string, Batch>();
  #hasLostWrite = false;
  #wantsSnapshot = false;
  #hasWarned = false;

  constructor(store: SessionStore, options: KnownLogOptions) {
    this.#store = store;
    this.#options = options;
  }

  get head(): Head | undefined {
    return this.#head;
  }

  /** Text of the head. Another text in the store means that another writer has written. */
  get headText(): string | undefined {
    return this.#headText;
  }

  /** Names of the known batches. */
  get refs(): readonly string[] {
    return [...this.#batches.keys()];
  }

  /** The records of each known batch by the name of the batch, the oldest first. */
  get flushes(): ReadonlyMap<string, readonly LogRecord[]> {
    return new Map(inOrder(this.#batches).map((ref) => [ref, this.#batches.get(ref)!.records]));
  }

  /** Whether the store has lost a write that it acknowledged. The next flush writes it again. */
  get hasLostWrite(): boolean {
    return this.#hasLostWrite;
  }

  /**
   * Whether the next flush compacts the log, because the log was long and complete when it was
   * read.
   */
  get wantsSnapshot(): boolean {
    return this.#wantsSnapshot;
  }

  /** Returns whether the log has a batch, or a snapshot of it. */
  has(ref: string): boolean {
    return this.#batches.has(ref) || replacedBy(this.#batches).has(ref);
  }

  /** Returns whether another writer has written since the last read or write of this writer. */
  async hasChanged(): Promise<boolean> {
    const text = await this.#reads.take(() => this.#store.head());
    const hasChanged = text !== this.#headText;
    if (hasChanged && !this.#store.detectsWriters) this.#warn();
    return hasChanged;
  }

  /** Reads the log. `unsureRefs`: batches that this writer writes again if the log lacks them. */
  async read(unsureRefs: readonly string[]): Promise<Omit<LogContent, 'pending'>> {
    const reading = await this.#reads.take(() => this.#read(unsureRefs));
    const { text, head, ownBatches, batches } = reading;
    const { detectsWriters } = this.#store;
    const replacedRefs = replacedBy(batches);
    const snapshot = newestSnapshot(batches);
    const lostRefs = [...ownBatches.keys()].filter(
      (ref) => !batches.has(ref) && !replacedRefs.has(ref) && !(detectsWriters && ref < snapshot),
    );
    for (const ref of lostRefs) batches.set(ref, ownBatches.get(ref)!);
    const wasDeleted = this.#isDeleted(head, [batches, replacedRefs, ownBatches]);

    // With `compareAndSet`, no other writer can have hidden these batches, so the store may not
    // have them. The next flush writes their records again instead of their names.
    this.#hasLostWrite = detectsWriters && lostRefs.length > 0;
    this.#wantsSnapshot = reading.wantsSnapshot || this.#hasLostWrite;
    const hiddenRefs = this.#hasLostWrite ? [] : lostRefs;
    this.#head = head && withLostRefs(head, hiddenRefs, this.#head?.version ?? 0);
    this.#headText = text;
    this.#batches = batches;
    return { stored: flushesOf(reading), wasDeleted };
  }

  /** Starts the current read again, because the store may never answer it. */
  readAgain(): void {
    this.#reads.restart();
  }

  /** Adds a write that the store has. Returns the batches that nobody needs any more. */
  addWrite({ ref, batch, head, headText }: LogWrite): readonly string[] {
    const deletableRefs = batch.replaces ? deletableAfter(this.#store, this.#batches) : [];
    if (batch.replaces) this.unload();
    this.#batches.set(ref, batch);
    this.#head = head;
    this.#headText = headText;
    this.#hasLostWrite = false;
    return deletableRefs;
  }

  /** Drops the records in memory, so that the next read reads all of them. */
  unload(): void {
    this.#batches.clear();
    this.#wantsSnapshot = false;
  }

  /** Gives up a lost write, because nobody wants its records any more. */
  forgetLostWrite(): void {
    this.#hasLostWrite = false;
  }

  /** Forgets the log, because it was deleted. */
  forget(): void {
    this.unload();
    this.#head = undefined;
    this.#headText = undefined;
    this.#hasLostWrite = false;
  }

  /** Reports damage of the log. Throws the error if nobody listens. */
  report(error: AgentError): void {
    const { onDamage } = this.#options;
    if (onDamage) onDamage(error);
    else throw error;
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

  async #read(unsureRefs: readonly string[]) {
    for (let attempt = 1; ; attempt++) {
      const store = this.#store;
      const text = await store.head();
      const parsed = await store.parseHead(text, { without: unsureRefs });
      if (parsed.error) this.#options.onDamage?.(parsed.error);
      const ownBatches = await this.#ownBatches(parsed.head);
      const head = parsed.head ?? this.#lostHead(ownBatches);
      const namedBatches = await store.readBatches(head, ownBatches);
      const isMissing = namedBatches.unread.some(({ error }) => error.retryable);
      if (isMissing && attempt < maxReads && (await store.head()) !== text) continue;
      const { batches, unread } = await store.readUnnamed(head, namedBatches);
      for (const { error } of unread) this.report(error);
      const refs = [...batches.keys()];
      const isLong = refs.length >= this.#options.compactAfter;
      const wantsSnapshot = refs.some((ref) => !ownBatches.has(ref))
        ? unread.length === 0 && isLong
        : this.#wantsSnapshot;
      return { text, head, ownBatches, batches: new Map(batches), unread, wantsSnapshot };
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
    const storedValues = await this.#store.readValues(this.refs);
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
}
