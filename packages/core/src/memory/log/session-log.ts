import { AgentError } from '../../error/agent-error.ts';
import { findBatches, readBatches, type UnreadBatch } from './batch-reader.ts';
import { flushesOf, inOrder, replacedBy } from './flushes-of.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import type { Flushes, LogRecord } from './format/log-record.ts';
import { fullLevels, takeOver } from './format/place-ref.ts';
import { readHead } from './read-head.ts';
import {
  formatVersion,
  makeRef,
  SessionKeys,
  suffixOf,
  isSealed,
} from './format/session-format.ts';
import type { Batch, Head } from './format/session-format.ts';
import { rejoin } from './rejoin.ts';
import { seal } from './integrity/seal.ts';
import { splitValue } from './format/split-value.ts';
import { StoreReads } from './store-reads.ts';

/**
 * Number of batches that one level of the head names before the next batch takes over the names.
 */
export const levelWidth = 32;
/** Number of attempts before a flush gives up because other writers keep changing the session. */
export const maxAttempts = 20;
/**
 * Number of times that a log is read while another writer deletes its batches. That writer has
 * replaced them with a snapshot.
 */
const maxReads = 3;

export interface SessionLogOptions {
  readonly generateId: () => string;
  readonly now: () => number;
  /** Number of batches from which a log that has been read is compacted at the next flush. */
  readonly compactAfter: number;
  /**
   * Receives the error of each value that can't be read; such a batch is left out. Without it, a log
   * with such a batch can't be read.
   */
  readonly onDamage?: ((error: AgentError) => void) | undefined;
}

/** Callbacks to the log's caller during a flush. */
export interface FlushContext {
  /** Receives all records, read again because another writer has written meanwhile. */
  onReread(records: Flushes): void;
  /**
   * Returns the shortest log equivalent to all loaded and added records. Returns `undefined` if
   * some of them can't be read.
   */
  compacted(): readonly LogRecord[] | undefined;
  title(): string | undefined;
}

/** A session's records, as `SessionMemory` uses them. */
export type Log = Pick<SessionLog, 'version' | 'add' | 'load' | 'flush' | 'repair' | 'clear'> &
  Partial<Pick<SessionLog, 'claim' | 'release' | 'hasChanged' | 'flushes' | 'readAgain'>>;

/**
 * A session's records in a store, append-only. Each flush writes one batch under a key of its own,
 * then the head. There is no queue: the caller must run one operation at a time.
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
  /** Every batch of the log that this writer knows; these batches are not read again. */
  #batches = new Map<string, Batch>();
  readonly #pending: LogRecord[] = [];
  readonly #reads = new StoreReads();
  /** Batch of a failed write whose outcome is unknown, and its number of pending records. */
  #unsure: { readonly ref: string; readonly records: number } | undefined;
  /** Whether the log was long and complete when it was read. */
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

  /** The stored flushes by name, as far as this writer knows them, the oldest first. */
  get flushes(): ReadonlyMap<string, readonly LogRecord[]> {
    return new Map(inOrder(this.#batches).map((ref) => [ref, this.#batches.get(ref)!.records]));
  }

  get head(): Head | undefined {
    return this.#head;
  }

  /**
   * Makes this writer the leader; its next flush writes that to the head. Drops pending records
   * that were refused before.
   */
  async claim(): Promise<Flushes> {
    if (this.#lead === 'lost') this.#pending.length = 0;
    this.#lead = 'claimed';
    const records = await this.load();
    this.#before = this.#head?.leader;
    return records;
  }

  /** Gives up the lead; this writer can't write any more. */
  release(): void {
    this.#lead = 'lost';
  }

  /** Takes in records that the next flush writes. */
  add(records: readonly LogRecord[]): void {
    this.#checkLead();
    this.#pending.push(...records);
  }

  /**
   * Returns all records: first those in the store, then the pending ones. With `errors`, collects
   * there what is wrong with the log, and reads what is left of it.
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
   * Reads what is left of a damaged log and writes it as a snapshot. Returns what was wrong; writes
   * nothing if that is nothing.
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

  /** Writes the pending records. With `takesLead`, writes even without any, whoever led so far. */
  async flush(context: FlushContext, takesLead = false): Promise<void> {
    this.#checkLead();
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (this.#pending.length === 0 && !takesLead) return;
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
   * Deletes every key of the session. The head goes first, so that an interrupted clear leaves an
   * empty session.
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
      const names = { refs: head?.refs.flat() ?? [], hash: head?.hash ?? '' };
      const found = await readBatches(this.#store, this.#keys, names, known);
      const { batches } = found;
      let { unread } = found;
      const isGone = unread.some(({ error }) => error.retryable);
      if (isGone && attempt < maxReads) {
        const now = await this.#store.get(this.#keys.head);
        if (now !== text) continue;
      }
      this.#tell(unread, errors);
      if (unread.length > 0) {
        const more = await findBatches(this.#store, this.#keys, [names.hash], found);
        this.#tell(more, errors);
        unread = [...unread, ...more];
      }
      const refs = [...batches.keys()];
      // A log of an older format gets checksums at the next flush.
      const isOld = refs.some((ref) => !isSealed(ref));
      const isLong = isOld || refs.length >= this.#options.compactAfter;
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

  /** Returns whether another writer has written since this one last read or wrote. */
  async hasChanged(): Promise<boolean> {
    const text = await this.#reads.take(() => this.#store.get(this.#keys.head));
    return text !== this.#seen;
  }

  /** Begins the read that is under way again, because the store may have lost it. */
  readAgain(): void {
    this.#reads.again();
  }

  /**
   * Returns whether to read the log before a write. With `compareAndSet` the write itself finds
   * out.
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
      // The session's last write must not move back when the clock does.
      updatedAt: Math.max(at, this.#head?.updatedAt ?? 0),
      ...(title !== undefined && { title }),
      ...(leader !== undefined && { leader }),
    };
    const { text } = seal(head, this.#keys.head);
    const keys = this.#keys.batch(ref);
    const entries = keys.map((key, part): readonly [string, string] => [key, values[part] ?? '']);

    if (this.#store.compareAndSet) {
      await this.#store.setMany(entries);
      this.#unsure = { ref, records: count };
      if (!(await this.#store.compareAndSet(this.#keys.head, this.#seen, text))) {
        this.#unsure = undefined;
        await this.#store.delete(keys);
        return false;
      }
    } else {
      this.#unsure = { ref, records: count };
      await this.#store.setMany([...entries, [this.#keys.head, text]]);
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
   * Deletes the batches that a new snapshot replaced. Without `compareAndSet`, a head may be read
   * late or overwritten by another writer. The batches it names must then stay for a while, so this
   * deletes only those that an earlier snapshot replaced.
   */
  async #forget(refs: readonly string[]): Promise<void> {
    this.#wantsSnapshot = false;
    const earlier = replacedBy(this.#batches);
    const gone = this.#store.compareAndSet ? [...refs, ...earlier] : [...earlier];
    this.#batches.clear();
    // Batches that can't be deleted now only take up space.
    await this.#store.delete(gone.flatMap((each) => this.#keys.batch(each))).catch(() => {});
  }
}
