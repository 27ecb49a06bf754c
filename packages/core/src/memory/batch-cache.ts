import { AgentError } from '../error/agent-error.ts';
import type { Batch } from './session-format.ts';

/**
 * Batches that were read before, by their keys: in a log of turns no key is ever written with anything else. Holds the parsed records of
 * at most `maxCharacters` of stored text; what was not asked for the longest goes first.
 */
export class BatchCache {
  readonly #entries: Map<string, { readonly batch: Batch; readonly characters: number }> = new Map();
  readonly #maxCharacters: number;
  #characters = 0;

  /** Throws `CONFIGURATION` for what is no number from 0 on. */
  constructor(maxCharacters: number) {
    if (!(maxCharacters >= 0)) throw new AgentError('CONFIGURATION', 'BatchCache: maxCharacters must be a number from 0 on');
    this.#maxCharacters = maxCharacters;
  }

  get(key: string): Batch | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.batch;
  }

  set(key: string, batch: Batch, characters: number): void {
    this.delete([key]);
    this.#entries.set(key, { batch, characters });
    this.#characters += characters;
    for (const oldest of this.#entries.keys()) {
      if (this.#characters <= this.#maxCharacters) return;
      this.delete([oldest]);
    }
  }

  delete(keys: readonly string[]): void {
    for (const key of keys) {
      this.#characters -= this.#entries.get(key)?.characters ?? 0;
      this.#entries.delete(key);
    }
  }
}
