import { AgentError } from '../error/agent-error.ts';
import type { KeyValueStore } from './key-value-store.ts';
import { placeRef } from './place-ref.ts';
import { formatVersion, makeRef, parseBatch, parseHead, SessionKeys } from './session-format.ts';
import type { Batch, Head, LogRecord } from './session-format.ts';
import { splitValue } from './split-value.ts';

/** Batches that a level of the head names before one of them takes the names over. */
const levelWidth = 32;
/** Times that other writers may come in between before a flush gives up. */
const maxAttempts = 20;

/**
 * A session's records in a store: append-only, one batch a flush under a key of its own, then the head. It does not queue: its
 * caller runs one operation at a time.
 */
export class SessionLog {
  readonly #store: KeyValueStore;
  readonly #keys: SessionKeys;
  readonly #generateId: () => string;
  readonly #writer: string;
  #head: Head | undefined;
  /** The head's text as last seen in the store: another one tells that another writer was there. */
  #seen: string | undefined;
  /** Every batch of the log, as far as this writer knows; what is here is not read again. */
  #batches = new Map<string, Batch>();
  readonly #pending: LogRecord[] = [];
  /** The batch of a write that failed with its outcome open, and how many of the pending records it holds. */
  #unsure: { readonly ref: string; readonly records: number } | undefined;

  constructor(store: KeyValueStore, sessionId: string, generateId: () => string) {
    this.#store = store;
    this.#keys = new SessionKeys(sessionId);
    this.#generateId = generateId;
    this.#writer = generateId();
  }

  get version(): number {
    return this.#head?.version ?? 0;
  }

  /** Takes records in; the next flush writes them. */
  add(records: readonly LogRecord[]): void {
    this.#pending.push(...records);
  }

  /** All records: the store's, then those that wait for a flush. */
  async load(): Promise<readonly LogRecord[]> {
    const text = await this.#store.get(this.#keys.head);
    const head = text === undefined ? undefined : parseHead(text);
    const known = head?.chain === this.#head?.chain ? this.#batches : new Map<string, Batch>();
    const batches = await this.#walk(head?.refs.flat() ?? [], known);
    const lost = [...known.keys()].filter((ref) => !batches.has(ref));
    for (const [ref, batch] of known) batches.set(ref, batch);

    this.#head = head && rejoin(head, lost, this.version);
    this.#seen = text;
    this.#batches = batches;
    if (this.#unsure && batches.has(this.#unsure.ref)) this.#pending.splice(0, this.#unsure.records);
    this.#unsure = undefined;

    const stored = [...batches].toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, batch]) => batch.records);
    return [...stored, ...this.#pending];
  }

  /** Writes what waits. Where another writer has come in between, `onReread` gets all records, read anew, before. */
  async flush(onReread: (records: readonly LogRecord[]) => void): Promise<void> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      if (this.#pending.length === 0) return;
      if (attempt > 0 || (await this.#isOutdated())) onReread(await this.load());
      if (this.#pending.length === 0 || (await this.#write())) return;
    }
    throw new AgentError('STORAGE_FAILED', 'Other writers kept changing the session', { retryable: true });
  }

  /** Deletes every key of the session; the head first, so that an interrupted clear leaves an empty session. */
  async clear(): Promise<void> {
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
  }

  /** A store with compare-and-set finds out itself, while it writes. */
  async #isOutdated(): Promise<boolean> {
    if (this.#unsure) return true;
    if (this.#store.compareAndSet) return false;
    return (await this.#store.get(this.#keys.head)) !== this.#seen;
  }

  /** One batch, then the head. False: another writer had changed the head, and the log is as it was. */
  async #write(): Promise<boolean> {
    const records = [...this.#pending];
    const { index, levels } = placeRef(this.#head?.refs ?? [], levelWidth);
    const batch: Batch = { v: formatVersion, records, ...(index.length > 0 ? { index } : {}) };
    const values = splitValue(JSON.stringify(batch), this.#store.features.maxValueBytes);
    const version = this.version + 1;
    const ref = makeRef(version, this.#generateId(), values.length);
    const chain = this.#head?.chain ?? this.#generateId();
    const head: Head = { v: formatVersion, version, writer: this.#writer, chain, refs: levels(ref) };
    const text = JSON.stringify(head);
    const keys = this.#keys.batch(ref);
    const entries = keys.map((key, part): readonly [string, string] => [key, values[part] ?? '']);

    if (this.#store.compareAndSet) {
      await this.#store.setMany(entries);
      this.#unsure = { ref, records: records.length };
      if (!(await this.#store.compareAndSet(this.#keys.head, this.#seen, text))) {
        this.#unsure = undefined;
        await this.#store.delete(keys);
        return false;
      }
    } else {
      this.#unsure = { ref, records: records.length };
      await this.#store.setMany([...entries, [this.#keys.head, text]]);
    }
    this.#unsure = undefined;
    this.#head = head;
    this.#seen = text;
    this.#batches.set(ref, batch);
    this.#pending.splice(0, records.length);
    return true;
  }

  /** These batches and all that they name, level by level; what is known is not read. */
  async #walk(refs: readonly string[], known: ReadonlyMap<string, Batch>): Promise<Map<string, Batch>> {
    const batches = new Map<string, Batch>();
    const missing: string[] = [];
    for (let wanted = refs; wanted.length > 0;) {
      const read = await this.#read(wanted.filter((ref) => !known.has(ref)));
      const named: string[] = [];
      for (const ref of wanted) {
        const batch = known.get(ref) ?? read.get(ref);
        if (batch) batches.set(ref, batch);
        else missing.push(ref);
        named.push(...(batch?.index ?? []));
      }
      wanted = named.filter((ref) => !batches.has(ref));
    }
    this.#accept(missing, batches);
    return batches;
  }

  /** Those of the batches that are in the store. */
  async #read(refs: readonly string[]): Promise<ReadonlyMap<string, Batch>> {
    const batches = new Map<string, Batch>();
    if (refs.length === 0) return batches;
    const values = await this.#store.getMany(refs.flatMap((ref) => this.#keys.batch(ref)));
    for (const ref of refs) {
      const keys = this.#keys.batch(ref);
      const found = keys.flatMap((key) => values.get(key) ?? []);
      if (found.length === keys.length) batches.set(ref, parseBatch(found));
    }
    return batches;
  }

  /** In a store whose values expire, the oldest may be gone; anything else that is missing is lost, or not there yet. */
  #accept(missing: readonly string[], found: ReadonlyMap<string, Batch>): void {
    if (missing.length === 0) return;
    const [oldest = ''] = [...found.keys()].toSorted();
    if (this.#store.features.expires && missing.every((ref) => ref < oldest)) return;
    throw new AgentError('STORAGE_FAILED', `${missing.length} of the session's records are not in the store`, { retryable: true });
  }
}

/** Another writer's head that overwrote, or is older than, what this writer wrote: its own batches are named again. */
function rejoin(head: Head, lost: readonly string[], version: number): Head {
  if (lost.length === 0) return head;
  const [first = [], ...levels] = head.refs;
  return { ...head, version: Math.max(head.version, version), refs: [[...first, ...lost], ...levels] };
}
