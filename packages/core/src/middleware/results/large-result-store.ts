import { isRecord } from '../../message/is-record.ts';
import { parseJson } from '../../message/parse-json.ts';
import type { KeyValueStore } from '../../memory/key-value-store.ts';
import { joinValue, splitValue } from '../../memory/log/format/split-value.ts';

/**
 * Largest number of sessions whose keys are remembered. Only a server has more sessions at once.
 * For the others, `delete` relies on the store's list alone.
 */
const maxSessions = 1_000;

/**
 * Stored result texts by session and tool call. A text over the store's value size is split into
 * pieces.
 */
export class LargeResultStore {
  readonly #store: KeyValueStore;
  /**
   * Keys that this process has written, by session: lists of an eventually consistent store lag.
   */
  readonly #written: Map<string, Set<string>> = new Map();

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  async write(sessionId: string, toolUseId: string, text: string): Promise<void> {
    const key = keyOf(sessionId, toolUseId);
    const values = splitValue(JSON.stringify({ v: 1, text }), this.#store.features.maxValueBytes);
    const pieces = values.map((value, index) => [`${key}:${index}`, value] as const);
    // Writes the head last: if it exists, so do all pieces.
    const entries =
      values.length === 1
        ? [[key, values[0]!] as const]
        : [...pieces, [key, JSON.stringify({ v: 1, pieces: values.length })] as const];
    const written = this.#written.get(sessionId) ?? new Set();
    this.#written.delete(sessionId);
    this.#written.set(sessionId, written);
    if (this.#written.size > maxSessions) this.#written.delete(this.#written.keys().next().value!);
    for (const [name] of entries) written.add(name);
    await this.#store.setMany(entries);
  }

  /** Reads a text; `undefined` if it, or a piece of it, is missing. */
  async read(sessionId: string, toolUseId: string): Promise<string | undefined> {
    const key = keyOf(sessionId, toolUseId);
    let value = parseJson((await this.#store.get(key)) ?? '');
    const pieces = isRecord(value) ? value['pieces'] : undefined;
    if (typeof pieces === 'number') {
      const names = Array.from({ length: pieces }, (_, index) => `${key}:${index}`);
      const found = await this.#store.getMany(names);
      if (found.size < pieces) return undefined;
      value = parseJson(joinValue(names.map((name) => found.get(name)!)));
    }
    const text = isRecord(value) ? value['text'] : undefined;
    return typeof text === 'string' ? text : undefined;
  }

  async delete(sessionId: string): Promise<void> {
    const listed = await this.#store.keys(keyOf(sessionId, ''));
    await this.#store.delete([...new Set([...listed, ...(this.#written.get(sessionId) ?? [])])]);
    this.#written.delete(sessionId);
  }
}

/**
 * Returns a key that cannot collide in a store shared with the session log, whose keys begin with
 * `s:`.
 */
function keyOf(sessionId: string, toolUseId: string): string {
  return `result:${encodeURIComponent(sessionId)}:${encodeURIComponent(toolUseId)}`;
}
