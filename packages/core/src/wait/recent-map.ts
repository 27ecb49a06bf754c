/** Map of limited size. Above `max` entries, it drops the one that was least recently used. */
export class RecentMap<K, V> {
  readonly #max: number;
  readonly #entries: Map<K, V> = new Map();

  constructor(max: number) {
    this.#max = max;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    // A map lists its keys in the order in which they were added.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#max) this.#entries.delete(this.#entries.keys().next().value!);
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }
}
