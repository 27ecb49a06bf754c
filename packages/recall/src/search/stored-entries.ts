import { AgentError, errorText, type KeyValueStore } from '@isoloop/core';
import { type Entry, joinValue, splitValue, encodeForKey, valueKeys } from '@isoloop/core/memory';
import { abortable } from '@isoloop/core/wait';

const entryVersion = 1;

/** Maximum length of a percent-encoded namespace. */
const maxNamespaceLength = 200;
/**
 * Maximum length of namespace and group in a key, percent-encoded. Cloudflare KV limits keys to 512
 * bytes, and the rest of a key needs less than 70.
 */
const maxEncodedLength = 440;
/** Maximum length of the id of a write. */
const maxIdLength = 40;
/** Number of digits, to base 36, of the time of a write. */
const timeLength = 9;

/**
 * Address of an entry in the store. The key is `<kind>:<namespace>:<group>:<revision>`, plus `~<n>`
 * if the entry needs n values.
 */
interface EntryAddress {
  readonly key: string;
  /** Session of a record, or id of a document. */
  readonly group: string;
  /** Time and id of the write. Later revisions sort after earlier revisions. */
  readonly revision: string;
  /** Number of stored values. */
  readonly valueCount: number;
}

/**
 * Where the entries are, and the functions that keep an index in step with them. `slot`: the group
 * of an entry if each group has one entry, otherwise its key.
 */
interface StoredEntriesOptions<T> {
  readonly store: KeyValueStore;
  /** Beginning of the keys. */
  readonly kind: string;
  readonly namespace: string;
  /** Words for errors: what an entry is, and what its group is. */
  readonly words: { readonly entry: string; readonly group: string };
  /** Whether a group has one entry, so that a later one replaces it. */
  readonly isUnique: boolean;
  /**
   * Adds an entry to the index, in place of an earlier entry of the same slot. Throws if the entry
   * is damaged.
   */
  add(slot: string, entry: T): void;
  remove(slot: string, entry: T): void;
  /** Receives an error for each damaged entry, and for old entries that cannot be deleted. */
  readonly onError: (error: AgentError) => void;
}

/**
 * Entries in a store to which other processes may write too, and an index of them in memory. An
 * entry never changes: a changed document gets a new key. So the list of keys is enough to find
 * changes.
 */
export class StoredEntries<T extends object> {
  /** Beginning of the keys of all entries. */
  readonly prefix: string;
  readonly #options: StoredEntriesOptions<T>;
  /** The entries in the index, by slot. */
  readonly #entries = new Map<string, { readonly address: EntryAddress; readonly entry: T }>();
  /**
   * Keys that this instance deleted, and keys of damaged entries. The store's list of keys may be
   * out of date, so these keys must be ignored.
   */
  readonly #ignored = new Set<string>();
  #lastChange: Promise<unknown> = Promise.resolve();
  #refreshing: Promise<void> | undefined;

  /**
   * Throws `INVALID_INPUT` for a namespace that is empty or has more than 200 characters,
   * percent-encoded.
   */
  constructor(options: StoredEntriesOptions<T>) {
    this.#options = options;
    const namespace = encodeForKey(options.namespace, 'namespace', maxNamespaceLength);
    this.prefix = `${options.kind}${namespace}:`;
  }

  /**
   * Returns the beginning of the keys of a group. Throws `INVALID_INPUT` if namespace and group
   * together are too long for a key.
   */
  groupPrefix(group: string): string {
    const { words } = this.#options;
    return `${this.prefix}${encodeForKey(group, words.group, maxEncodedLength - this.prefix.length)}:`;
  }

  /** Returns the entry in the index with this slot. */
  get(slot: string): T | undefined {
    return this.#entries.get(slot)?.entry;
  }

  /** Returns the addresses of the listed entries whose keys begin with `prefix`. */
  async list(prefix: string): Promise<readonly EntryAddress[]> {
    const keys = await this.#options.store.keys(prefix);
    return keys.flatMap((key) => this.addressOf(key) ?? []);
  }

  /** Returns the address for the first key of an entry, or `undefined` for any other key. */
  addressOf(key: string): EntryAddress | undefined {
    const [, encoded, revision, values = '1'] =
      /^([^:]+):([0-9a-z]{9}-[\w-]+)(?:~(\d+))?$/.exec(key.slice(this.prefix.length)) ?? [];
    const group = encoded && decodedText(encoded);
    return group && revision ? { key, group, revision, valueCount: Number(values) } : undefined;
  }

  /**
   * Writes an entry and adds it to the index. `at`: milliseconds since 1970. Returns the entry
   * whose slot it takes. Throws `INVALID_INPUT` unless the id is 1 to 40 letters, digits, `_` or
   * `-`.
   */
  async write(
    { group, at, id }: { readonly group: string; readonly at: number; readonly id: string },
    entry: T,
  ): Promise<EntryAddress | undefined> {
    const { store } = this.#options;
    const text = JSON.stringify({ v: entryVersion, ...entry });
    const values = splitValue(text, store.features.maxValueBytes);
    const previous = this.#options.isUnique ? this.#entries.get(group)?.address : undefined;
    // The new entry must sort after the one that it replaces, also if the clock was set back.
    const previousTime = previous ? parseInt(previous.revision.slice(0, timeLength), 36) : -1;
    const time = Math.max(Math.trunc(at), previousTime + 1);
    const revision = `${time.toString(36).padStart(timeLength, '0')}-${id}`;
    const size = values.length > 1 ? `~${values.length}` : '';
    const address = this.addressOf(`${this.groupPrefix(group)}${revision}${size}`);
    if (!address || id.length > maxIdLength)
      throw new AgentError(
        'INVALID_INPUT',
        `"${id}" cannot be part of a key. Use 1 to ${maxIdLength} letters, digits, _ and -.`,
      );
    const entries = keysOf(address).map((key, part): Entry => [key, values[part]!]);
    // The first value is written last: if it exists, the entry is complete.
    await store.setMany(entries.toReversed());
    this.#addEntry(address, entry);
    return previous;
  }

  /** Deletes entries from the store and the index. `keys`: other keys to delete. */
  async delete(addresses: readonly EntryAddress[], keys: readonly string[] = []): Promise<void> {
    const deletedKeys = new Set([...addresses.flatMap(keysOf), ...keys]);
    if (!deletedKeys.size) return;
    // A running refresh must not add these entries again.
    for (const key of deletedKeys) this.#ignored.add(key);
    try {
      await this.#options.store.delete([...deletedKeys]);
    } catch (error) {
      for (const key of deletedKeys) this.#ignored.delete(key);
      throw error;
    }
    for (const address of addresses) this.#removeEntry(address);
  }

  /** Deletes all entries whose keys begin with `prefix`, also parts of entries. */
  async deleteAll(prefix: string): Promise<void> {
    const addresses = [...this.#entries.values()].map(({ address }) => address);
    const matchingAddresses = addresses.filter(({ key }) => key.startsWith(prefix));
    await this.delete(matchingAddresses, await this.#options.store.keys(prefix));
  }

  /**
   * Adds new entries of the store to the index, and removes entries that were deleted from the
   * store. Deletes the oldest entries if there are more than `limit`. Concurrent callers share one
   * read of the store.
   */
  async refresh(signal: AbortSignal | undefined, limit: number = Infinity): Promise<void> {
    try {
      this.#refreshing ??= this.#refresh(limit).finally(() => (this.#refreshing = undefined));
      await (signal ? abortable(this.#refreshing, signal) : this.#refreshing);
    } catch (error) {
      throw AgentError.from(error, signal?.aborted ? 'ABORTED' : 'STORAGE_FAILED');
    }
  }

  /**
   * Runs changes one at a time, in the order of their calls. An entry that is written before a
   * delete therefore does not return after the delete.
   */
  inOrder(change: () => Promise<void>): Promise<void> {
    const result = this.#lastChange.then(change).catch((error: unknown) => {
      throw AgentError.from(error, 'STORAGE_FAILED');
    });
    this.#lastChange = result.catch(() => {});
    return result;
  }

  async #refresh(limit: number): Promise<void> {
    const { store, onError } = this.#options;
    const addresses = await this.list(this.prefix);
    const keys = new Set(addresses.map(({ key }) => key));
    for (const key of this.#ignored) if (!keys.has(key)) this.#ignored.delete(key);
    const sorted = addresses.filter(({ key }) => !this.#ignored.has(key)).toSorted(byRevision);
    /** The newest of the entries of each slot. */
    const newest = new Map(sorted.map((address) => [this.#slotOf(address), address]));
    const entries = [...newest.values()].toSorted(byRevision);
    const old = entries.splice(0, Math.max(0, entries.length - limit));
    const newAddresses = entries.filter((address) => this.#isNew(address));
    // A key that is not listed was deleted elsewhere, or it is so new that the list does not have
    // it yet. Its value shows which is the case.
    const unlistedAddresses = [...this.#entries].flatMap(([slot, { address }]) =>
      newest.has(slot) ? [] : address,
    );
    const values = await store.getMany([
      ...newAddresses.flatMap(keysOf),
      ...unlistedAddresses.map(({ key }) => key),
    ]);
    for (const address of unlistedAddresses)
      if (!values.has(address.key)) this.#removeEntry(address);
    for (const address of newAddresses) this.#readEntry(address, values);
    if (old.length)
      await this.delete(old).catch((error: unknown) =>
        onError(AgentError.from(error, 'STORAGE_FAILED')),
      );
  }

  #readEntry(address: EntryAddress, values: ReadonlyMap<string, string>): void {
    const { words, onError } = this.#options;
    const parts = keysOf(address).flatMap((key) => values.get(key) ?? []);
    // The entry was deleted after the list was read, or its values cannot be read yet. The next
    // refresh tries again.
    if (parts.length < address.valueCount || this.#ignored.has(address.key)) return;
    const { key } = address;
    try {
      const { v: format, ...entry } = JSON.parse(joinValue(parts)) as T & { readonly v?: unknown };
      if (format !== entryVersion)
        throw new Error(`it has format ${String(format)}, and the library reads ${entryVersion}`);
      if (this.#isNew(address)) this.#addEntry(address, entry as unknown as T);
    } catch (cause) {
      this.#ignored.add(key);
      const message = `The ${words.entry} ${key} in the store cannot be read: ${errorText(cause)}.`;
      onError(new AgentError('STORAGE_FAILED', message, { cause, details: { key } }));
    }
  }

  #addEntry(address: EntryAddress, entry: T): void {
    const slot = this.#slotOf(address);
    this.#options.add(slot, entry);
    this.#entries.set(slot, { address, entry });
  }

  #removeEntry(address: EntryAddress): void {
    const slot = this.#slotOf(address);
    const current = this.#entries.get(slot);
    if (current?.address.key !== address.key) return;
    this.#entries.delete(slot);
    this.#options.remove(slot, current.entry);
  }

  #isNew(address: EntryAddress): boolean {
    const current = this.#entries.get(this.#slotOf(address));
    return !current || current.address.revision < address.revision;
  }

  #slotOf({ group, key }: EntryAddress): string {
    return this.#options.isUnique ? group : key;
  }
}

function byRevision(a: EntryAddress, b: EntryAddress): number {
  return a.revision < b.revision ? -1 : 1;
}

function keysOf({ key, valueCount }: EntryAddress): readonly string[] {
  return valueKeys(key, valueCount);
}

/**
 * Returns the decoded text. Returns `undefined` if a key of another program is not encoded text.
 */
function decodedText(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
