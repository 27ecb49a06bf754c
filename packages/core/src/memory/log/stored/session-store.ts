import { AgentError } from '../../../error/agent-error.ts';
import type { Entry, KeyValueStore } from '../../store/key-value-store.ts';
import { splitValue } from '../../store/split-value.ts';
import { seal } from './seal.ts';
import { SessionKeys, suffixOf, versionOf } from './session-keys.ts';
import {
  formatVersion,
  isOtherFormat,
  parseBatch,
  type Batch,
  type ReadBatches,
  type UnreadBatch,
} from './stored-batch.ts';
import { parseHead, type Head } from './stored-head.ts';

/** Batches that were read before and are not read again. */
export interface CachedBatches {
  get(ref: string): Batch | undefined;
  /** Receives each batch that has just been read. */
  add?(ref: string, batch: Batch, characters: number): void;
}

interface FoundHead {
  readonly head?: Head | undefined;
  /** Why the head is not the one in the store. */
  readonly error?: AgentError | undefined;
}

/** A batch as it is stored. */
export interface SealedBatch {
  readonly ref: string;
  /** The batch as JSON with its checksum. */
  readonly text: string;
  /** The batch's values, the first one first. */
  readonly entries: readonly Entry[];
}

/** The name of a batch. The keys of its further values do not match. */
const refPattern = /^\d{8}[-.][\w-]+(?:=\w+)?(?:~\d+)?$/;

/** The values of one session in a store. */
export class SessionStore {
  readonly keys: SessionKeys;
  readonly kv: KeyValueStore;

  constructor(store: KeyValueStore, sessionId: string) {
    this.kv = store;
    this.keys = new SessionKeys(sessionId);
  }

  /** Whether a write detects other writers. Such a store also has a current key list. */
  get detectsWriters(): boolean {
    return this.kv.compareAndSet !== undefined;
  }

  /** Returns the head in the store. */
  head(): Promise<string | undefined> {
    return this.kv.get(this.keys.head);
  }

  /**
   * Parses the head, which names the batches of a session. Rebuilds a damaged head from the store's
   * key list, if that list is current. For a repair, rebuilds a damaged or missing head in any
   * store. Rejects with `STORAGE_FAILED` if the head is damaged and can't be rebuilt, except for a
   * repair, or if it has another format. `without`: names of batches that a rebuilt head leaves
   * out, because the reader will write them again.
   */
  async parseHead(
    text: string | undefined,
    {
      isRepair = false,
      without = [],
    }: { readonly isRepair?: boolean; readonly without?: readonly string[] } = {},
  ): Promise<FoundHead> {
    const { head: key } = this.keys;
    let error: AgentError | undefined;
    try {
      if (text !== undefined) return { head: parseHead(text, key) };
      if (!isRepair) return {};
    } catch (thrown) {
      error = AgentError.from(thrown);
      if (isOtherFormat(error) || !(isRepair || this.detectsWriters)) throw error;
    }
    const head = await this.#rebuildHead(isRepair, without);
    if (error && !head && !isRepair) throw error;
    return { head, error: error ?? (head && notFoundError(key, false)) };
  }

  /**
   * Reads the batches that the head names, and all batches that these name, level by level. Checks
   * each batch. Does not read known batches again.
   */
  async readBatches(
    head: Head | undefined,
    knownBatches: CachedBatches = new Map(),
  ): Promise<ReadBatches> {
    const batches = new Map<string, Batch>();
    const unread: UnreadBatch[] = [];
    for (let refsToRead = head?.refs.flat() ?? []; refsToRead.length > 0;) {
      const knownByRef = new Map(refsToRead.map((ref) => [ref, knownBatches.get(ref)]));
      const valuesByRef = await this.readValues(refsToRead.filter((ref) => !knownByRef.get(ref)));
      const indexRefs: string[] = [];
      for (const ref of refsToRead) {
        const values = valuesByRef.get(ref);
        const batch = knownByRef.get(ref) ?? this.#parse(ref, values);
        if ('error' in batch) unread.push(batch);
        else {
          // An estimate: usually only the last value of a batch is shorter than the others.
          if (values) knownBatches.add?.(ref, batch, values[0]!.length * values.length);
          batches.set(ref, batch);
          indexRefs.push(...(batch.index ?? []));
        }
      }
      refsToRead = indexRefs.filter((ref) => !batches.has(ref));
    }
    // A missing batch that is older than the oldest one found may have expired. Any other missing
    // batch is lost or not in the store yet.
    const [oldest = ''] = this.kv.features.expires ? [...batches.keys()].toSorted() : [];
    const missing = unread.filter(({ ref, error }) => !error.retryable || ref >= oldest);
    return { batches, unread: missing };
  }

  /**
   * If a batch of `reading` can't be read, also reads the batches that it may name. The store's
   * key list has them.
   */
  async readUnnamed(head: Head | undefined, reading: ReadBatches): Promise<ReadBatches> {
    const { unread } = reading;
    if (unread.length === 0) return reading;
    const batches = new Map(reading.batches);
    const unnamedUnread = await this.#findBatches([head?.last ?? ''], batches, unread);
    return { batches, unread: [...unread, ...unnamedUnread] };
  }

  /**
   * Finds batches in the store's key list that no readable batch names, and adds them to `batches`.
   * Their names were in an unreadable batch or head. Several batches have the same version if a
   * write failed halfway. Of these, adds only the batches in `tips` and the batches that a later
   * batch names. Returns the unreadable batches.
   */
  async #findBatches(
    tips: readonly string[],
    batches: Map<string, Batch>,
    unread: readonly UnreadBatch[],
  ): Promise<readonly UnreadBatch[]> {
    const versions = new Set([...batches.keys(), ...unread.map(({ ref }) => ref)].map(versionOf));
    const snapshot = newestSnapshot(batches);
    const refs = (await this.#listedRefs()).filter(
      (ref) => !versions.has(versionOf(ref)) && ref > snapshot,
    );
    const valuesByRef = await this.readValues(refs);
    const names = new Set([...tips, ...[...batches.values()].map(({ prev }) => prev)]);
    const damages: UnreadBatch[] = [];
    // The newest batch comes first, because each batch contains the name of the previous batch.
    for (const ref of refs.toReversed()) {
      const isOnly = refs.filter((other) => versionOf(other) === versionOf(ref)).length === 1;
      if (!isOnly && !names.has(ref)) continue;
      const batch = this.#parse(ref, valuesByRef.get(ref));
      if ('error' in batch) damages.push(batch);
      else {
        batches.set(ref, batch);
        names.add(batch.prev);
        if (batch.replaces) break;
      }
    }
    return damages;
  }

  /** Reads the values of each batch. Leaves out batches that are not complete in the store. */
  async readValues(refs: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const valuesByRef = new Map<string, readonly string[]>();
    if (refs.length === 0) return valuesByRef;
    const values = await this.kv.getMany(refs.flatMap((ref) => this.keys.batch(ref)));
    for (const ref of refs) {
      const keys = this.keys.batch(ref);
      const batchValues = keys.flatMap((key) => values.get(key) ?? []);
      if (batchValues.length === keys.length) valuesByRef.set(ref, batchValues);
    }
    return valuesByRef;
  }

  /** Returns the stored form of a batch. `name`: its ref without the suffix. */
  seal(name: string, batch: Batch): SealedBatch {
    const { text, sum } = seal(batch, this.keys.sealKey(name));
    const values = splitValue(text, this.kv.features.maxValueBytes);
    const ref = name + suffixOf(sum, values.length);
    const entries = this.keys.batch(ref).map((key, part): Entry => [key, values[part]!]);
    return { ref, text, entries };
  }

  /**
   * Writes a batch, then the head `head`, which replaces the head `expected`. Returns false if the
   * store refuses the write. Rejects with `STORAGE_FAILED` if the store has acknowledged the first
   * head of a session and does not have it.
   */
  async write(
    entries: readonly Entry[],
    head: string,
    expected: string | undefined,
  ): Promise<boolean> {
    const { kv } = this;
    const key = this.keys.head;
    const allEntries = [...entries, [key, head] as const];
    if (!kv.compareAndSet) {
      await kv.setMany(allEntries);
      return true;
    }
    if (kv.setManyIf) {
      if (!(await kv.setManyIf(key, expected, allEntries))) return false;
    } else {
      await kv.setMany(entries);
      if (!(await kv.compareAndSet(key, expected, head))) return false;
    }
    // Later, a first head that was never written looks like a session that was cleared.
    if (expected === undefined && (await this.head()) === undefined) throw this.lostWriteError();
    return true;
  }

  /** Returns the error for a write that the store acknowledged but does not have. */
  lostWriteError(): AgentError {
    const text = `The store acknowledged a write of ${this.keys.head} and does not have it.`;
    return new AgentError('STORAGE_FAILED', text, { retryable: true });
  }

  /** Deletes batches. A failure does no harm: the batches only take up space. */
  async deleteBatches(refs: readonly string[]): Promise<void> {
    if (refs.length === 0) return;
    await this.kv.delete(refs.flatMap((ref) => this.keys.batch(ref))).catch(() => {});
  }

  /**
   * Deletes every key of the session, the head first. If `clear` is interrupted, the session is
   * therefore empty. `refs`: batches that the store's key list may not have yet. Returns the keys.
   */
  async clear(refs: readonly string[]): Promise<readonly string[]> {
    const listedKeys = await this.kv.keys(this.keys.prefix);
    const deletedKeys = [
      ...new Set([...refs.flatMap((ref) => this.keys.batch(ref)), ...listedKeys]),
    ];
    await this.kv.delete([this.keys.head]);
    await this.kv.delete(deletedKeys);
    return deletedKeys;
  }

  /** Returns the refs of the batches in the store's key list, in order. */
  async #listedRefs(): Promise<readonly string[]> {
    const { batches } = this.keys;
    const keys = await this.kv.keys(batches);
    return keys.map((key) => key.slice(batches.length)).filter((ref) => refPattern.test(ref));
  }

  #parse(ref: string, values: readonly string[] | undefined): Batch | UnreadBatch {
    const [key = ''] = this.keys.batch(ref);
    if (!values) return { ref, error: notFoundError(key, true) };
    try {
      return parseBatch(this.keys, ref, values);
    } catch (error) {
      return { ref, error: AgentError.from(error) };
    }
  }

  /**
   * Returns a head for the batches in the store, or `undefined` if there are none. The head also
   * names a batch that is missing before another one, so that readers report it.
   * Batches that are missing at the end can't be detected, because they may never have been
   * written. If the last version has several batches, all but one belong to failed writes. The
   * function then returns `undefined`, or with `mayGuess` a head of all batches.
   */
  async #rebuildHead(mayGuess: boolean, without: readonly string[]): Promise<Head | undefined> {
    const refs = (await this.#listedRefs()).filter((ref) => !without.includes(ref));
    const last = refs.at(-1);
    if (last === undefined) return undefined;
    const version = versionOf(last);
    const tips = refs.filter((ref) => versionOf(ref) === version);
    if (tips.length > 1 && !mayGuess) return undefined;
    const batches = new Map<string, Batch>();
    const unread = await this.#findBatches(tips, batches, []);
    const listedRefs = new Set([...batches.keys(), ...unread.map(({ ref }) => ref)]);
    for (const { prev, replaces } of batches.values()) {
      // A snapshot replaces all earlier batches.
      if (!replaces && prev) listedRefs.add(prev);
    }
    return {
      v: formatVersion,
      version,
      writerId: '',
      // The same batches always give the same id of the log.
      logId: last,
      last,
      refs: [[...listedRefs].toSorted()],
      createdAt: 0,
      updatedAt: 0,
      ownership: batches.get(last)?.ownership,
    };
  }
}

/** Returns the name of the newest snapshot among the batches, or an empty text. */
export function newestSnapshot(batches: ReadonlyMap<string, Batch>): string {
  const snapshots = [...batches].flatMap(([ref, { replaces }]) => (replaces ? [ref] : []));
  return snapshots.toSorted().at(-1) ?? '';
}

/** Returns the error for a value that the store does not have. */
function notFoundError(key: string, retryable: boolean): AgentError {
  const message = `The session's record ${key} is not in the store`;
  return new AgentError('STORAGE_FAILED', message, { retryable, details: { key } });
}
