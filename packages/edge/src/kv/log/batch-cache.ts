import { checkFields, nonNegative } from '@isoloop/core/options';
import type { Batch } from '@isoloop/core/log';

/**
 * Cache of batches, each with the records of one write, by key. The cache is safe because
 * `EchoMemory` never overwrites a batch. It contains the parsed records of at most `maxCharacters`
 * of stored text. A batch beyond this limit empties the cache.
 */
export class BatchCache {
  readonly #batches: Map<string, Batch> = new Map();
  readonly #maxCharacters: number;
  #characterCount = 0;

  constructor(maxCharacters: number) {
    checkFields('BatchCache', { maxCharacters }, { maxCharacters: nonNegative });
    this.#maxCharacters = maxCharacters;
  }

  get(key: string): Batch | undefined {
    return this.#batches.get(key);
  }

  set(key: string, batch: Batch, characters: number): void {
    this.#characterCount += characters;
    if (this.#characterCount <= this.#maxCharacters) this.#batches.set(key, batch);
    else {
      this.#batches.clear();
      this.#characterCount = 0;
    }
  }

  delete(keys: readonly string[]): void {
    for (const key of keys) this.#batches.delete(key);
  }
}
