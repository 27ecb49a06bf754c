import { AgentError } from '../error/agent-error.ts';
import { isRecord } from '../message/json/is-record.ts';
import { parseJson } from '../message/json/parse-json.ts';
import type { DocumentIndex, SearchDocument } from './document-index.ts';
import type { KeyValueStore } from '../memory/key-value-store.ts';
import { encode, maxEncoded } from './record-format.ts';
import { joinValue, splitValue } from '../memory/split-value.ts';

const formatVersion = 1;

/**
 * Place of a document in the store. The key is `docs:<namespace>:<id>:<revision>`. If the document
 * is split into n values, `~<n>` follows.
 */
interface Place {
  readonly key: string;
  readonly id: string;
  readonly revision: string;
  readonly values: number;
}

export interface DocumentStoreOptions {
  readonly store: KeyValueStore;
  readonly namespace: string;
  readonly now: () => number;
  readonly onError: (error: AgentError) => void;
}

/**
 * Keeps a search index in sync with a store to which other processes may write too. A changed
 * document gets a new key, so the list of keys is enough to find changes.
 */
export class DocumentStore {
  readonly #options: DocumentStoreOptions;
  readonly #prefix: string;
  /** Places of the documents in the index, by document id. */
  readonly #held = new Map<string, Place>();
  /**
   * Keys that this instance deleted, and keys of damaged documents. The store's list of keys may be
   * out of date, so these keys must be ignored.
   */
  readonly #ignored = new Set<string>();

  /**
   * Throws `INVALID_INPUT` for a namespace that is empty. Also throws it if the namespace has more
   * than 200 characters after percent-encoding.
   */
  constructor(options: DocumentStoreOptions) {
    this.#options = options;
    this.#prefix = `docs:${encode(options.namespace, 'namespace', 200)}:`;
  }

  async add(documents: readonly SearchDocument[], index: DocumentIndex): Promise<void> {
    const { store, now } = this.#options;
    const [first] = documents;
    if (!first) return;
    const prefix = documents.length === 1 ? this.#of(first.id) : this.#prefix;
    const listed = await this.#list(prefix);
    for (const document of documents) {
      const text = JSON.stringify({ v: formatVersion, ...document });
      const values = splitValue(text, store.features.maxValueBytes);
      const place = this.#place(document.id, now(), values.length);
      // The first value is written last: if it exists, the document is complete.
      await store.setMany(
        keysOf(place)
          .map((key, part) => [key, values[part]!] as const)
          .toReversed(),
      );
      const held = this.#held.get(document.id);
      this.#held.set(document.id, place);
      index.set(document);
      const older = listed.filter(({ id }) => id === document.id);
      await this.#delete(held ? [...older, held] : older);
    }
  }

  async remove(ids: readonly string[], index: DocumentIndex): Promise<void> {
    for (const id of ids) {
      const held = this.#held.get(id);
      const listed = await this.#list(this.#of(id));
      await this.#delete(held ? [...listed, held] : listed);
      this.#held.delete(id);
      index.remove(id);
    }
  }

  async clear(index: DocumentIndex): Promise<void> {
    await this.#delete([...(await this.#list(this.#prefix)), ...this.#held.values()]);
    for (const id of this.#held.keys()) index.remove(id);
    this.#held.clear();
  }

  /**
   * Adds new documents of the store to the index, and removes documents that were deleted from the
   * store.
   */
  async refresh(index: DocumentIndex): Promise<void> {
    const { store } = this.#options;
    const newest = new Map<string, Place>();
    const listed = await this.#list(this.#prefix);
    const keys = new Set(listed.map(({ key }) => key));
    for (const key of this.#ignored) if (!keys.has(key)) this.#ignored.delete(key);
    for (const place of listed) {
      const other = newest.get(place.id);
      if (!this.#ignored.has(place.key) && !(other && other.revision > place.revision))
        newest.set(place.id, place);
    }
    const changed = [...newest.values()].filter(({ id, key, revision }) => {
      const held = this.#held.get(id);
      return !held || (held.key !== key && revision > held.revision);
    });
    // A key that is not listed was deleted elsewhere, or it is so new that the list does not have
    // it yet. Its value shows which is the case.
    const unlisted = [...this.#held.values()].filter(({ id }) => !newest.has(id));
    const values = await store.getMany([
      ...changed.flatMap(keysOf),
      ...unlisted.map(({ key }) => key),
    ]);

    for (const { id, key } of unlisted) {
      if (values.has(key)) continue;
      this.#held.delete(id);
      index.remove(id);
    }
    for (const place of changed) this.#take(place, values, index);
  }

  #take(place: Place, values: ReadonlyMap<string, string>, index: DocumentIndex): void {
    const found = keysOf(place).flatMap((key) => values.get(key) ?? []);
    // The document was deleted after the list was read, or its values cannot be read yet. The next
    // refresh tries again.
    if (found.length < place.values) return;
    const document = parseDocument(place.id, found);
    if (document) {
      this.#held.set(place.id, place);
      index.set(document);
    } else {
      this.#ignored.add(place.key);
      const { key } = place;
      this.#options.onError(
        new AgentError('STORAGE_FAILED', `The document ${key} in the store is damaged`, {
          details: { key },
        }),
      );
    }
  }

  async #list(prefix: string): Promise<readonly Place[]> {
    return (await this.#options.store.keys(prefix)).flatMap((key) => this.#read(key) ?? []);
  }

  async #delete(places: readonly Place[]): Promise<void> {
    const keys = [...new Set(places.flatMap(keysOf))];
    if (keys.length) await this.#options.store.delete(keys);
    for (const { key } of places) this.#ignored.add(key);
  }

  #of(id: string): string {
    return `${this.#prefix}${encode(id, 'document id', maxEncoded - this.#prefix.length)}:`;
  }

  /**
   * Creates a place with a new revision. Later revisions sort after earlier revisions. If two
   * instances create revisions at the same time, all instances choose the same one of them.
   */
  #place(id: string, at: number, values: number): Place {
    const held = this.#held.get(id)?.revision ?? '';
    const time = Math.max(Math.trunc(at), parseInt(held.slice(0, 9) || '0', 36) + 1);
    const revision = `${time.toString(36).padStart(9, '0')}-${crypto.randomUUID().slice(0, 8)}`;
    return {
      key: `${this.#of(id)}${revision}${values > 1 ? `~${values}` : ''}`,
      id,
      revision,
      values,
    };
  }

  /** Returns the place for the first key of a document, or `undefined` for any other key. */
  #read(key: string): Place | undefined {
    const [, encoded, revision, values] =
      /^([^:]+):([0-9a-z]{9}-\w+)(?:~(\d+))?$/.exec(key.slice(this.#prefix.length)) ?? [];
    const id = encoded && decode(encoded);
    return id && revision ? { key, id, revision, values: Number(values ?? 1) } : undefined;
  }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function keysOf({ key, values }: Place): readonly string[] {
  return Array.from({ length: values }, (_, index) => (index === 0 ? key : `${key}:${index}`));
}

function parseDocument(id: string, values: readonly string[]): SearchDocument | undefined {
  try {
    const value = parseJson(joinValue(values));
    if (!isRecord(value) || value['v'] !== formatVersion || typeof value['content'] !== 'string')
      return undefined;
    const { v: _v, ...document } = value;
    return { ...(document as unknown as SearchDocument), id };
  } catch {
    return undefined;
  }
}
