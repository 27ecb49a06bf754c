import { keyPrefix } from '../../memory/store/storage-keys.ts';
import { isRecord, parseJson } from '../../message/json.ts';
import type { KeyValueStore } from '../../memory/store/key-value-store.ts';
import { joinValue, splitValue } from '../../memory/store/split-value.ts';
import { RecentMap } from '../../state/recent-map.ts';

/**
 * Maximum number of sessions whose keys are remembered, because a server can have many sessions.
 * For other sessions, `delete` uses only the store's list of keys.
 */
const maxSessions = 1_000;

/**
 * Texts of results, by session and tool call. A text that is longer than the store's maximum value
 * size is split into several values.
 */
export class LargeResultStore {
  readonly #store: KeyValueStore;
  /**
   * Keys that this process has written, by session. They are needed because the key list of an
   * eventually consistent store may be out of date.
   */
  readonly #written: RecentMap<string, Set<string>> = new RecentMap(maxSessions);

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  async write(sessionId: string, toolUseId: string, text: string): Promise<void> {
    const key = keyOf(sessionId, toolUseId);
    const values = splitValue(JSON.stringify({ v: 1, text }), this.#store.features.maxValueBytes);
    const pieces = values.map((value, index) => [`${key}:${index}`, value] as const);
    const whole = [key, JSON.stringify({ v: 1, pieces: values.length })] as const;
    // The value under `key` is written last: if it exists, all pieces exist too.
    const entries = values[1] ? [...pieces, whole] : [[key, values[0]!] as const];
    const written = this.#written.get(sessionId) ?? new Set();
    this.#written.set(sessionId, written);
    for (const [name] of entries) written.add(name);
    await this.#store.setMany(entries);
  }

  /** Returns a text, or `undefined` if the text or a piece of it is missing. */
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
 * Returns the key of a text. The same store may hold the session log; keys of the log begin with
 * `s:`.
 */
function keyOf(sessionId: string, toolUseId: string): string {
  return `${keyPrefix.result}${encodeURIComponent(sessionId)}:${encodeURIComponent(toolUseId)}`;
}
