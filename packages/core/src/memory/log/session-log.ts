import { AgentError } from '../../error/agent-error.ts';
import { findBatches, readBatches, type UnreadBatch } from './batch-reader.ts';
import { digest } from './digest.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import type { Flushes, LogRecord } from './log-record.ts';
import { fullLevels, takeOver } from './place-ref.ts';
import { formatVersion, makeRef, parseHead, SessionKeys } from './session-format.ts';
import type { Batch, Head } from './session-format.ts';
import { splitValue } from './split-value.ts';

/** Batches that a level of the head names before one of them takes the names over. */
export const levelWidth = 32;
/** Times that other writers may come in between before a flush gives up. */
export const maxAttempts = 20;
/**
 * Times that a log is read whose batches another writer deletes meanwhile, because a snapshot has
 * taken their place.
 */
const maxReads = 3;

export interface SessionLogOptions {
  readonly generateId: () => string;
  readonly now: () => number;
  /** A log that is read and has this many batches is put together at the next flush. */
  readonly compactAfter: number;
  /**
   * Told of each batch that can't be read, which is left out then; without it such a log can't be
   * read.
   */
  readonly onDamage?: ((error: AgentError) => void) | undefined;
}

/** What the log asks of its caller while it writes. */
export interface FlushContext {
  /** Another writer has come in between: all records, read anew. */
  onReread(records: Flushes): void;
  /**
   * The shortest log that amounts to the same as all records that were loaded and added; nothing
   * where some of them can't be read.
   */
  compacted(): readonly LogRecord[] | undefined;
  title(): string | undefined;
}

/** A session's records, as `SessionMemory` keeps them. */
export type Log = Pick<SessionLog, 'version' | 'add' | 'load' | 'flush' | 'clear'> &
  Partial<Pick<SessionLog, 'claim' | 'release' | 'hasChanged'>>;

/**
 * A session's records in a store: append-only, one batch a flush under a key of its own, then the
 * head. It does not queue: its caller runs one operation at a time.
 */
export class SessionLog {
  readonly #store: KeyValueStore;
  readonly #keys: SessionKeys;
  readonly #options: SessionLogOptions;
  readonly #writer: string;
  #head: Head | undefined;
  /** The head's text as last seen in the store: another one tells that another writer was there. */
  #seen: string | undefined;
  /** Every batch of the log, as far as this writer knows; what is here is not read again. */
  #batches = new Map<string, Batch>();
  readonly #pending: LogRecord[] = [];
  /**
   * The batch of a write that failed with its outcome open, and how many of the pending records it
   * holds.
   */
  #unsure: { readonly ref: string; readonly records: number } | undefined;
  /** The log was long when it was read, and whole. */
  #wantsSnapshot = false;
  /** Whether this writer leads the session: then another one that claims it ends its writing. */
  #lead: 'none' | 'claimed' | 'lost' = 'none';
  /** The leader before, as long as this one has not written. */
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

  get head(): Head | undefined {
    return this.#head;
  }

  /**
   * Makes this writer the leader: its next flush says so in the head. What it was refused before is
   * forgotten.
   */
  async claim(): Promise<Flushes> {
    if (this.#lead === 'lost') this.#pending.length = 0;
    this.#lead = 'claimed';
    const records = await this.load();
    this.#before = this.#head?.leader;
    return records;
  }

  /** Gives the lead up: nothing is written any more. */
  release(): void {
    this.#lead = 'lost';
  }

  /** Takes records in; the next flush writes them. */
  add(records: readonly LogRecord[]): void {
    this.#checkLead();
    this.#pending.push(...records);
  }

  /** All records: the store's, then those that wait for a flush. */
  async load(): Promise<Flushes> {
    const { text, head, known, batches } = await this.#read();
    const replaced = replacedBy(batches);
    const lost = [...known.keys()].filter((ref) => !batches.has(ref) && !replaced.has(ref));
    for (const ref of lost) batches.set(ref, known.get(ref)!);

    this.#head = head && rejoin(head, lost, this.version);
    this.#seen = text;
    this.#batches = batches;
    if (this.#unsure && batches.has(this.#unsure.ref))
      this.#pending.splice(0, this.#unsure.records);
    this.#unsure = undefined;
    return [...this.#records(), [...this.#pending]];
  }

  /** Writes what waits; `takesLead`: also where nothing does, and whoever led till now. */
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
   * Deletes every key of the session; the head first, so that an interrupted clear leaves an empty
   * session.
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

  async #read(): Promise<{
    readonly text: string | undefined;
    readonly head: Head | undefined;
    readonly known: ReadonlyMap<string, Batch>;
    readonly batches: Map<string, Batch>;
  }> {
    for (let attempt = 1; ; attempt++) {
      const text = await this.#store.get(this.#keys.head);
      const head = text === undefined ? undefined : parseHead(text);
      const known = head?.chain === this.#head?.chain ? this.#batches : new Map<string, Batch>();
      const { batches, unread } = await readBatches(
        this.#store,
        this.#keys,
        head?.refs.flat() ?? [],
        known,
      );
      const isGone = unread.some(({ error }) => error.retryable);
      if (isGone && attempt < maxReads) {
        const now = await this.#store.get(this.#keys.head);
        if (now !== text) continue;
      }
      this.#tell(unread);
      if (unread.length > 0)
        await findBatches(this.#store, this.#keys, head!.hash, { batches, unread });
      const isNew = [...batches.keys()].some((ref) => !known.has(ref));
      if (isNew)
        this.#wantsSnapshot = unread.length === 0 && batches.size >= this.#options.compactAfter;
      return { text, head, known, batches };
    }
  }

  #tell(unread: readonly UnreadBatch[]): void {
    const { onDamage } = this.#options;
    for (const { error } of unread) {
      if (!onDamage) throw error;
      onDamage(error);
    }
  }

  /** In the order they were written, without what a snapshot stands for. */
  #records(): Flushes {
    const replaced = replacedBy(this.#batches);
    const batches = [...this.#batches]
      .filter(([ref]) => !replaced.has(ref))
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
    return batches.map(([, { records }]) => records);
  }

  /** Whether another writer has written since this one last read or wrote. */
  async hasChanged(): Promise<boolean> {
    return (await this.#store.get(this.#keys.head)) !== this.#seen;
  }

  /** A store with compare-and-set finds out itself, while it writes. */
  async #isOutdated(): Promise<boolean> {
    if (this.#unsure) return true;
    if (this.#store.compareAndSet) return false;
    return this.hasChanged();
  }

  /**
   * One batch, then the head. False: another writer had changed the head, and the log is as it was.
   */
  async #write(context: FlushContext): Promise<boolean> {
    const count = this.#pending.length;
    const compacted = this.#wantsSnapshot ? context.compacted() : undefined;
    const replaces = compacted && [...this.#batches.keys()];
    const refs = (!replaces && this.#head?.refs) || [];
    const index = fullLevels(refs, levelWidth);
    const batch: Batch = {
      v: formatVersion,
      prev: this.#head?.hash ?? '',
      records: compacted ?? [...this.#pending],
      ...(index.length > 0 && { index }),
      ...(replaces && { replaces }),
    };
    const batchText = JSON.stringify(batch);
    const { generateId, now } = this.#options;
    const values = splitValue(batchText, this.#store.features.maxValueBytes);
    const version = this.version + 1;
    const ref = makeRef(version, generateId(), values.length);
    const title = context.title();
    const at = now();
    const leader = this.#lead === 'none' ? this.#head?.leader : this.#writer;
    const head: Head = {
      v: formatVersion,
      version,
      writer: this.#writer,
      chain: this.#head?.chain ?? generateId(),
      hash: await digest(batchText),
      refs: takeOver(refs, index, ref),
      createdAt: this.#head?.createdAt || at,
      // A clock that was set back does not make a session older than it is.
      updatedAt: Math.max(at, this.#head?.updatedAt ?? 0),
      ...(title !== undefined && { title }),
      ...(leader !== undefined && { leader }),
    };
    const text = JSON.stringify(head);
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
   * After a snapshot. Where a head may be read late, or be overwritten by another writer, what it
   * names must stay a while: there only what an earlier snapshot stands for is deleted.
   */
  async #forget(refs: readonly string[]): Promise<void> {
    this.#wantsSnapshot = false;
    const earlier = replacedBy(this.#batches);
    const gone = this.#store.compareAndSet ? [...refs, ...earlier] : [...earlier];
    this.#batches.clear();
    // What can't be deleted now costs room, nothing else.
    await this.#store.delete(gone.flatMap((each) => this.#keys.batch(each))).catch(() => {});
  }
}

/** What snapshots stand for. */
export function replacedBy(batches: ReadonlyMap<string, Batch>): ReadonlySet<string> {
  return new Set([...batches.values()].flatMap(({ replaces }) => replaces ?? []));
}

/**
 * Another writer's head that overwrote, or is older than, what this writer wrote: its own batches
 * are named again.
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
