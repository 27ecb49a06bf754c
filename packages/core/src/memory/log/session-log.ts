import { AgentError } from '../../error/agent-error.ts';
import {
  findBatches,
  readBatches,
  type UnreadBatch,
  flushesOf,
  inOrder,
  replacedBy,
  readValues,
} from './batch-reader.ts';
import { maxAttempts, pause } from '../contention.ts';
import type { Entry, KeyValueStore } from '../key-value-store.ts';
import type { Flushes, LogRecord } from './log-record.ts';
import { seal } from './seal.ts';
import { makeRef, SessionKeys } from './session-keys.ts';
import { StoreReads } from './store-reads.ts';
import { UnsureWrites } from './unsure-writes.ts';
import { formatVersion, sealBatch, type Batch, type SealedBatch } from './stored-batch.ts';
import { fullLevels, nextHead, readHead, takeOver, type Head } from './stored-head.ts';
import type { ContentionOptions } from '../contention.ts';
import { reportFailure } from '../../error/report-failure.ts';

export interface SessionLogOptions extends ContentionOptions {
  readonly generateId: () => string;
  readonly now: () => number;
  /** Number of batches from which a log is compacted, at the first flush after a read. */
  readonly compactAfter: number;
  /**
   * Receives the error of each batch that can't be read. The log then leaves out this batch.
   * Without `onDamage`, reading such a log rejects.
   */
  readonly onDamage?: ((error: AgentError) => void) | undefined;
  /** See `SessionMemoryOptions`. */
  readonly onWarning?: ((warning: AgentError) => void) | undefined;
}

/** Functions of the caller that a flush uses. */
export interface FlushContext {
  /**
   * Receives all records after the flush had to read the log again, because another writer has
   * written.
   */
  onReread(records: Flushes): void;
  /**
   * Returns the shortest list of records that describes the session. Returns `undefined` if some
   * records can't be read.
   */
  compacted(): readonly LogRecord[] | undefined;
  title(): string | undefined;
}

/**
 * Maximum number of batches that one level of the head names. The next batch takes over the names.
 */
export const levelWidth = 32;
/**
 * Maximum number of reads of a log while another writer deletes batches that it has replaced with a
 * snapshot.
 */
const maxReads = 3;

/** The log of a session, as `SessionMemory` uses it. */
export type Log = Pick<SessionLog, 'version' | 'add' | 'load' | 'flush' | 'repair' | 'clear'> &
  Partial<
    Pick<SessionLog, 'claim' | 'release' | 'hasChanged' | 'flushes' | 'readAgain' | 'unload'>
  >;

/**
 * Append-only log of a session's records in a store. Each flush writes the new records as one batch
 * under a new key, then the head, which names the batches. The caller must run one operation at a
 * time.
 */
export class SessionLog {
  readonly #store: KeyValueStore;
  readonly #keys: SessionKeys;
  readonly #options: SessionLogOptions;
  readonly #writer: string;
  #head: Head | undefined;
  /**
   * Text of the head as last seen in the store. A different text means that another writer wrote.
   */
  #seen: string | undefined;
  /** The batches that this writer has read or written. They are not read again. */
  #batches = new Map<string, Batch>();
  readonly #pending: LogRecord[] = [];
  readonly #reads = new StoreReads();
  readonly #unsure = new UnsureWrites();
  readonly #warn: () => void;
  /** Whether the store has lost a write that it acknowledged. The next flush writes it again. */
  #hasLost = false;
  /**
   * Whether the next flush compacts the log, because the log was long and complete when it was
   * read.
   */
  #wantsSnapshot = false;
  /** Whether this writer leads the session. A leader can't write after another writer claims it. */
  #lead: 'none' | 'claimed' | 'lost' = 'none';
  /** The previous leader, until this writer's first write. */
  #before: string | undefined;

  constructor(store: KeyValueStore, sessionId: string, options: SessionLogOptions) {
    this.#store = store;
    this.#keys = new SessionKeys(sessionId);
    this.#options = options;
    this.#writer = options.generateId();
    this.#warn = secondWriterWarning(options.onWarning);
  }

  get version(): number {
    return this.#head?.version ?? 0;
  }

  /** The records of each known batch by the name of the batch, the oldest first. */
  get flushes(): ReadonlyMap<string, readonly LogRecord[]> {
    return new Map(inOrder(this.#batches).map((ref) => [ref, this.#batches.get(ref)!.records]));
  }

  /**
   * Makes this writer the leader of the session. The next flush writes its id to the head. Drops
   * pending records that were refused before.
   */
  async claim(): Promise<Flushes> {
    if (this.#lead === 'lost') {
      this.#pending.length = 0;
      this.#unsure.clear();
    }
    this.#lead = 'claimed';
    const records = await this.load();
    this.#before = this.#head?.leader;
    return records;
  }

  /** Stops leading the session. This writer can no longer write. */
  release(): void {
    this.#lead = 'lost';
  }

  /** Adds records that the next flush writes. */
  add(records: readonly LogRecord[]): void {
    this.#checkLead();
    this.#pending.push(...records);
  }

  /**
   * Returns all records: first the stored records, then the pending records. With `errors`, adds
   * the errors of damaged batches to `errors` and reads the rest of the log.
   */
  async load(errors?: AgentError[]): Promise<Flushes> {
    const found = await this.#reads.take(() => this.#read(errors && []));
    const { text, head, known, batches, unread, wantsSnapshot } = found;
    errors?.push(...(found.errors ?? []));
    this.#wantsSnapshot = wantsSnapshot;
    const isSafe = this.#store.compareAndSet !== undefined;
    const replaced = replacedBy(batches);
    const snapshot = [...batches].findLast(([, { replaces }]) => replaces)?.[0] ?? '';
    const lost = [...known.keys()].filter(
      (ref) => !batches.has(ref) && !replaced.has(ref) && !(isSafe && ref < snapshot),
    );
    await this.#settle(text, (ref) => batches.has(ref) || replaced.has(ref));
    for (const ref of lost) batches.set(ref, known.get(ref)!);

    // With `compareAndSet`, no other writer can have hidden these batches, so the store may not have
    // them. The next flush writes their records again instead of their names.
    const isNew = isSafe && lost.length > 0 && !this.#hasLost;
    if (isSafe) this.#hasLost = lost.length > 0;
    if (this.#hasLost) this.#wantsSnapshot = true;
    this.#head = head && rejoin(head, isSafe ? [] : lost, this.version);
    this.#seen = text;
    this.#batches = batches;
    if (isNew) this.#report(lostWrite(this.#keys.head), errors);
    return [...flushesOf(batches, unread), [...this.#pending]];
  }

  /**
   * Removes the pending records of a write that took effect, whatever the store answered. Deletes
   * the batches of writes that can't take effect any more, because the head has changed.
   */
  async #settle(text: string | undefined, isStored: (ref: string) => boolean): Promise<void> {
    const { records, gone } = this.#unsure.settle(text, isStored);
    this.#pending.splice(0, records);
    if (this.#store.compareAndSet && gone.length > 0) await this.#delete(gone);
  }

  /**
   * Reads the readable part of a damaged log and writes it as a snapshot. Returns the errors.
   * Writes nothing if there are no errors.
   */
  async repair(context: FlushContext): Promise<readonly AgentError[]> {
    const errors: AgentError[] = [];
    context.onReread(await this.load(errors));
    if (errors.length > 0) {
      this.#wantsSnapshot = true;
      await this.flush(context, true);
    }
    return errors;
  }

  /**
   * Writes the pending records. With `takesLead`, writes the head even without pending records, so
   * that this writer replaces any leader.
   */
  async flush(context: FlushContext, takesLead = false): Promise<void> {
    this.#checkLead();
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (this.#isIdle && !takesLead) return;
      if (attempt > 0) await pause(attempt, this.#options);
      if (attempt > 0 || (await this.#isOutdated())) {
        context.onReread(await this.load());
        if (takesLead) this.#before = this.#head?.leader;
        this.#checkLead();
      }
      if ((this.#isIdle && !takesLead) || (await this.#write(context))) return;
    }
    const { refs } = this.#unsure;
    this.#unsure.clear();
    await this.#deleteUnnamed(refs);
    throw new AgentError('STORAGE_FAILED', 'Other writers kept changing the session', {
      retryable: true,
    });
  }

  /**
   * Deletes every key of the session, the head first. If `clear` is interrupted, the session is
   * therefore empty.
   */
  async clear(): Promise<void> {
    this.#checkLead();
    await this.load().catch(() => {});
    const batches = [...this.#batches.keys()].flatMap((ref) => this.#keys.batch(ref));
    const found = await this.#store.keys(this.#keys.prefix);
    await this.#store.delete([this.#keys.head]);
    await this.#store.delete([...new Set([...batches, ...found])]);
    this.#head = undefined;
    this.#seen = undefined;
    this.#batches.clear();
    this.#pending.length = 0;
    this.#unsure.clear();
    this.#hasLost = false;
    this.#wantsSnapshot = false;
  }

  /** Whether there is nothing to write. */
  get #isIdle(): boolean {
    return this.#pending.length === 0 && !this.#hasLost;
  }

  #checkLead(): void {
    const { leader } = this.#head ?? {};
    if (
      this.#lead === 'claimed' &&
      leader !== undefined &&
      leader !== this.#writer &&
      leader !== this.#before
    )
      this.#lead = 'lost';
    if (this.#lead === 'lost')
      throw new AgentError('SESSION_CONFLICT', 'Another writer has taken the session over.', {
        retryable: true,
      });
  }

  async #read(errors?: AgentError[]): Promise<{
    readonly text: string | undefined;
    readonly head: Head | undefined;
    readonly known: ReadonlyMap<string, Batch>;
    readonly batches: Map<string, Batch>;
    readonly unread: readonly string[];
    readonly errors: readonly AgentError[] | undefined;
    readonly wantsSnapshot: boolean;
  }> {
    for (let attempt = 1; ; attempt++) {
      const text = await this.#store.get(this.#keys.head);
      const { onDamage } = this.#options;
      const head = await readHead(this.#store, this.#keys, {
        text,
        errors,
        onDamage,
        without: this.#unsure.refs,
      });
      const own = { isSameLog: head?.chain === this.#head?.chain, batches: this.#batches };
      const known = await knownBatches(this.#store, this.#keys, own);
      const found = await readBatches(this.#store, this.#keys, head?.refs.flat() ?? [], known);
      const { batches } = found;
      let { unread } = found;
      const isGone = unread.some(({ error }) => error.retryable);
      if (isGone && attempt < maxReads) {
        const now = await this.#store.get(this.#keys.head);
        if (now !== text) continue;
      }
      this.#tell(unread, errors);
      if (unread.length > 0) {
        const more = await findBatches(this.#store, this.#keys, [head?.hash ?? ''], found);
        this.#tell(more, errors);
        unread = [...unread, ...more];
      }
      const refs = [...batches.keys()];
      const isLong = refs.length >= this.#options.compactAfter;
      const wantsSnapshot = refs.some((ref) => !known.has(ref))
        ? unread.length === 0 && isLong
        : this.#wantsSnapshot;
      const lost = unread.map(({ ref }) => ref);
      return { text, head, known, batches, unread: lost, errors, wantsSnapshot };
    }
  }

  #tell(unread: readonly UnreadBatch[], errors: AgentError[] | undefined): void {
    for (const { error } of unread) this.#report(error, errors);
  }

  #report(error: AgentError, errors: AgentError[] | undefined): void {
    const { onDamage } = this.#options;
    if (errors) errors.push(error);
    else if (onDamage) onDamage(error);
    else throw error;
  }

  /** Returns whether another writer has written since the last read or write of this writer. */
  async hasChanged(): Promise<boolean> {
    const text = await this.#reads.take(() => this.#store.get(this.#keys.head));
    const hasChanged = text !== this.#seen;
    if (hasChanged && !this.#store.compareAndSet) this.#warn();
    return hasChanged;
  }

  /** Drops the records in memory, so that the next `load` reads all of them. */
  unload(): void {
    this.#batches.clear();
    this.#wantsSnapshot = false;
  }

  /** Starts the current read again, because the store may never answer it. */
  readAgain(): void {
    this.#reads.again();
  }

  /**
   * Returns whether to read the log before a write. With `compareAndSet`, the write itself detects
   * other writers.
   */
  async #isOutdated(): Promise<boolean> {
    if (this.#unsure.refs.length > 0) return true;
    if (this.#store.compareAndSet) return false;
    return this.hasChanged();
  }

  /**
   * Writes one batch, then the head. If the store refuses the write, returns false. The next `load`
   * finds out whether the write took effect nevertheless.
   */
  async #write(context: FlushContext): Promise<boolean> {
    const count = this.#pending.length;
    const compacted = this.#wantsSnapshot ? context.compacted() : undefined;
    const replaces = compacted && [...this.#batches.keys()];
    const records = compacted ?? [...this.#pending];
    const { batch, ref, entries, head } = this.#make(records, replaces, context.title());
    const { text } = seal(head, this.#keys.head);
    const expected = this.#seen;
    this.#unsure.add({ ref, records: count, expected });
    const headEntry = [this.#keys.head, text] as const;
    if (!(await writeBatch(this.#store, { entries, headEntry, expected }))) return false;
    this.#hasLost = false;
    await this.#settle(text, (each) => each === ref);
    this.#head = head;
    this.#seen = text;
    this.#before = undefined;
    if (replaces) await this.#forget(replaces);
    this.#batches.set(ref, batch);
    return true;
  }

  /** Makes a batch of these records, and the head that names it. */
  #make(
    records: readonly LogRecord[],
    replaces: readonly string[] | undefined,
    title: string | undefined,
  ): SealedBatch & { readonly batch: Batch; readonly head: Head } {
    const before = this.#head;
    const next = nextHead(before, { ...this.#options, writer: this.#writer, title });
    const refs = replaces ? [] : next.refs;
    const index = fullLevels(refs, levelWidth);
    const leader = this.#lead === 'none' ? before?.leader : this.#writer;
    const led = leader !== undefined && { leader };
    const batch: Batch = {
      v: formatVersion,
      prev: before?.hash ?? '',
      records,
      ...(index.length > 0 && { index }),
      ...(replaces && { replaces }),
      ...led,
    };
    const name = makeRef(next.version, this.#options.generateId());
    const sealed = sealBatch(this.#keys, name, batch, this.#store.features.maxValueBytes);
    const { ref } = sealed;
    const head = { ...next, ...led, hash: ref, refs: takeOver(refs, index, ref) };
    return { ...sealed, batch, head };
  }

  /**
   * Deletes the batches that a new snapshot replaced. Without `compareAndSet`, a reader may still
   * see an older head and needs the batches that it names. In such a store, deletes only the
   * batches that an earlier snapshot replaced.
   */
  async #forget(refs: readonly string[]): Promise<void> {
    this.#wantsSnapshot = false;
    const earlier = replacedBy(this.#batches);
    const gone = this.#store.compareAndSet ? [...refs, ...earlier] : [...earlier];
    this.#batches.clear();
    await this.#deleteUnnamed(gone);
  }

  /** Deletes batches if the head in the store is the one that this writer knows. */
  async #deleteUnnamed(refs: readonly string[]): Promise<void> {
    const isCurrent = await this.hasChanged().then(
      (changed) => !changed,
      () => false,
    );
    if (isCurrent) await this.#delete(refs);
  }

  /** Deletes batches. A failure does no harm: the batches only take up space. */
  async #delete(refs: readonly string[]): Promise<void> {
    if (refs.length === 0) return;
    await this.#store.delete(refs.flatMap((each) => this.#keys.batch(each))).catch(() => {});
  }
}

/**
 * Adds this writer's own batches to a head that does not name them. Another writer overwrote this
 * writer's head, or the store shows an older head.
 */
function rejoin(head: Head, lost: readonly string[], version: number): Head {
  if (lost.length === 0) return head;
  const [first = [], ...levels] = head.refs;
  return {
    ...head,
    version: Math.max(head.version, version),
    refs: [[...first, ...lost], ...levels],
  };
}

/**
 * Returns the batches of this writer that still belong to the session. A head of another log means
 * that the session was cleared, or that two writers began it at once, in a store without
 * `compareAndSet`. Only then does the store still have the batches.
 */
async function knownBatches(
  store: KeyValueStore,
  keys: SessionKeys,
  { isSameLog, batches }: { readonly isSameLog: boolean; readonly batches: Map<string, Batch> },
): Promise<ReadonlyMap<string, Batch>> {
  if (isSameLog) return batches;
  if (store.compareAndSet) return new Map();
  const stored = await readValues(store, keys, [...batches.keys()]);
  return new Map([...batches].filter(([ref]) => stored.has(ref)));
}

/** Returns a function whose first call warns of a second writer in a store without `compareAndSet`. */
function secondWriterWarning(onWarning: ((warning: AgentError) => void) | undefined): () => void {
  let isFirst = true;
  return () => {
    if (!isFirst) return;
    isFirst = false;
    const message =
      'Another writer changed the session. The store has no compareAndSet, so records can be lost.';
    reportFailure('SessionMemory:', onWarning, new AgentError('SESSION_CONFLICT', message));
  };
}

/** A batch and the head that names it, as they are stored. */
interface BatchWrite {
  readonly entries: readonly Entry[];
  readonly headEntry: Entry;
  /** Text of the head that the write replaces. */
  readonly expected: string | undefined;
}

/**
 * Writes a batch, then the head. Returns false if the store refuses the write. Rejects with
 * `STORAGE_FAILED` if the store has acknowledged the first head of a session and does not have it.
 */
async function writeBatch(
  store: KeyValueStore,
  { entries, headEntry, expected }: BatchWrite,
): Promise<boolean> {
  const [key, text] = headEntry;
  if (!store.compareAndSet) {
    await store.setMany([...entries, headEntry]);
    return true;
  }
  if (store.setManyIf) {
    if (!(await store.setManyIf(key, expected, [...entries, headEntry]))) return false;
  } else {
    await store.setMany(entries);
    if (!(await store.compareAndSet(key, expected, text))) return false;
  }
  // Later, a first head that was never written looks like a session that was cleared.
  if (expected === undefined && (await store.get(key)) === undefined) throw lostWrite(key);
  return true;
}

/** Returns the error for a write that the store acknowledged but does not have. */
function lostWrite(key: string): AgentError {
  const text = `The store acknowledged a write of ${key} and does not have it.`;
  return new AgentError('STORAGE_FAILED', text, { retryable: true });
}
