import { checkFields } from '../../error/check-fields.ts';
import type { Batch } from './session-format.ts';

/**
 * Batches that were read before, by their keys: in a log of turns no key is ever written with
 * anything else. Holds the parsed records of at most `maxCharacters` of stored text; where more
 * would come in, it begins anew.
 */
export class BatchCache {
  readonly #batches: Map<string, Batch> = new Map();
  readonly #maxCharacters: number;
  #characters = 0;

  /** Throws `CONFIGURATION` for what is no number from 0 on. */
  constructor(maxCharacters: number) {
    checkFields('CONFIGURATION', 'BatchCache', { maxCharacters }, 'maxCharacters:count');
    this.#maxCharacters = maxCharacters;
  }

  get(key: string): Batch | undefined {
    return this.#batches.get(key);
  }

  set(key: string, batch: Batch, characters: number): void {
    this.#characters += characters;
    if (this.#characters <= this.#maxCharacters) this.#batches.set(key, batch);
    else {
      this.#batches.clear();
      this.#characters = 0;
    }
  }

  delete(keys: readonly string[]): void {
    for (const key of keys) this.#batches.delete(key);
  }
}
