import { AgentError } from '../../error/agent-error.ts';
import { findBatches, readBatches, type UnreadBatch } from './batch-reader.ts';
import { flushesOf, inOrder, replacedBy } from './flushes-of.ts';
import { maxAttempts, pause, type ContentionOptions } from '../contention.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import type { Flushes, LogRecord } from './format/log-record.ts';
import { fullLevels, takeOver } from './format/place-ref.ts';
import { readHead } from './read-head.ts';
import { formatVersion, makeRef, SessionKeys, suffixOf } from './format/session-format.ts';
import type { Batch, Head } from './format/session-format.ts';
import { rejoin } from './rejoin.ts';
import { seal } from './integrity/seal.ts';
import { splitValue } from './format/split-value.ts';
import { StoreReads } from './store-reads.ts';

/**
 * Maximum number of batches that one level of the head names. The next batch takes over the names.
 */
export const levelWidth = 32;
/**
 * Maximum number of reads of a log while another writer deletes batches that it has replaced with a
 * snapshot.
 */
const maxReads = 3;

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
  /** Batch of a failed write whose outcome is unknown, and its number of pending records. */
  #unsure: { readonly ref: string; readonly records: number } | undefined;
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
  }

  get version(): number {
    return this.#head?.version ?? 0;
  }

  /** The records of each known batch by the name of the batch, the oldest first. */
  get flushes(): ReadonlyMap<string, readonly LogRecord[]> {
    return new Map(inOrder(this.#batches).map((ref) => [ref, this.#batches.get(ref)!.records]));
  }

  get head(): Head | undefined {
    return this.#head;
  }

  /**
   * Makes this writer the leader of the session. The next flush writes its id to the head. Drops
   * pending records that were refused before.
   */
  async claim(): Promise<Flushes> {
    if (this.#lead === 'lost') this.#pending.length = 0;
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
    const replaced = replacedBy(batches);
    const lost = [...known.keys()].filter((ref) => !batches.has(ref) && !replaced.has(ref));
    for (const ref of lost) batches.set(ref, known.get(ref)!);

    this.#head = head && rejoin(head, lost, this.version);
    this.#seen = text;
    this.#batches = batches;
    if (this.#unsure && batches.has(this.#unsure.ref))
      this.#pending.splice(0, this.#unsure.records);
    this.#unsure = undefined;
    return [...flushesOf(batches, unread), [...this.#pending]];
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
      if (this.#pending.length === 0 && !takesLead) return;
      if (attempt > 0) await pause(attempt, this.#options);
      if (attempt > 0 || (await this.#isOutdated())) {
        context.onReread(await this.load());
        if (takesLead) this.#before = this.#head?.leader;
        this.#checkLead();
      }
      if ((this.#pending.length === 0 && !takesLead) || (await this.#write(context))) return;
    }
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
    this.#unsure = undefined;
    this.#wantsSnapshot = false;
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
      const head = await readHead(this.#store, this.#keys, { text, errors, onDamage });
      const known = head?.chain === this.#head?.chain ? this.#batches : new Map<string, Batch>();
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
    const { onDamage } = this.#options;
    for (const { error } of unread) {
      if (errors) errors.push(error);
      else if (onDamage) onDamage(error);
      else throw error;
    }
  }

  /** Returns whether another writer has written since the last read or write of this writer. */
  async hasChanged(): Promise<boolean> {
    const text = await this.#reads.take(() => this.#store.get(this.#keys.head));
    return text !== this.#seen;
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
    if (this.#unsure) return true;
    if (this.#store.compareAndSet) return false;
    return this.hasChanged();
  }

  /**
   * Writes one batch, then the head. If another writer changed the head, returns false and leaves
   * the log as it was.
   */
  async #write(context: FlushContext): Promise<boolean> {
    const count = this.#pending.length;
    const compacted = this.#wantsSnapshot ? context.compacted() : undefined;
    const replaces = compacted && [...this.#batches.keys()];
    const refs = (!replaces && this.#head?.refs) || [];
    const index = fullLevels(refs, levelWidth);
    const { generateId, now } = this.#options;
    const leader = this.#lead === 'none' ? this.#head?.leader : this.#writer;
    const batch: Batch = {
      v: formatVersion,
      prev: this.#head?.hash ?? '',
      records: compacted ?? [...this.#pending],
      ...(index.length > 0 && { index }),
      ...(replaces && { replaces }),
      ...(leader !== undefined && { leader }),
    };
    const version = this.version + 1;
    const name = makeRef(version, generateId());
    const { text: batchText, sum } = seal(batch, this.#keys.place(name));
    const values = splitValue(batchText, this.#store.features.maxValueBytes);
    const ref = name + suffixOf(sum, values.length);
    const title = context.title();
    const at = now();
    const head: Head = {
      v: formatVersion,
      version,
      writer: this.#writer,
      chain: this.#head?.chain ?? generateId(),
      hash: ref,
      refs: takeOver(refs, index, ref),
      createdAt: this.#head?.createdAt || at,
      // `updatedAt` must not decrease when the clock moves back.
      updatedAt: Math.max(at, this.#head?.updatedAt ?? 0),
      ...(title !== undefined && { title }),
      ...(leader !== undefined && { leader }),
    };
    const { text } = seal(head, this.#keys.head);
    const keys = this.#keys.batch(ref);
    const entries = keys.map((key, part): readonly [string, string] => [key, values[part] ?? '']);

    const { head: headKey } = this.#keys;
    const all = [...entries, [headKey, text] as const];
    if (this.#store.setManyIf) {
      this.#unsure = { ref, records: count };
      if (!(await this.#store.setManyIf(headKey, this.#seen, all))) {
        this.#unsure = undefined;
        return false;
      }
    } else if (this.#store.compareAndSet) {
      await this.#store.setMany(entries);
      this.#unsure = { ref, records: count };
      if (!(await this.#store.compareAndSet(headKey, this.#seen, text))) {
        this.#unsure = undefined;
        await this.#store.delete(keys);
        return false;
      }
    } else {
      this.#unsure = { ref, records: count };
      await this.#store.setMany(all);
    }
    this.#unsure = undefined;
    this.#head = head;
    this.#seen = text;
    this.#before = undefined;
    this.#pending.splice(0, count);
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
    const earlier = replacedBy(this.#batches);
    const gone = this.#store.compareAndSet ? [...refs, ...earlier] : [...earlier];
    this.#batches.clear();
    // A failure here does no harm: the batches only take up space.
    await this.#store.delete(gone.flatMap((each) => this.#keys.batch(each))).catch(() => {});
  }
}
