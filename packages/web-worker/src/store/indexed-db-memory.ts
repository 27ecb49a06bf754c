import { SessionMemory } from '@isoloop/core';
import { checkOptions, withMethod, optional, type OptionTable } from '@isoloop/core/options';
import { IndexedDbStore } from './indexed-db-store.ts';

/** The store in which an `IndexedDbMemory` keeps its conversation. */
export interface IndexedDbMemoryOptions {
  /** Store of the conversation. Default: a new `IndexedDbStore` with the database `isoloop`. */
  readonly store?: IndexedDbStore;
}

/**
 * Memory of a conversation in the browser's IndexedDB. Each message is stored before the agent
 * continues.
 */
export class IndexedDbMemory extends SessionMemory {
  constructor(sessionId: string, options: IndexedDbMemoryOptions = {}) {
    checkOptions('IndexedDbMemory', options, indexedDbMemoryOptions);
    super(options.store ?? new IndexedDbStore(), sessionId, { durability: 'step' });
  }
}

const indexedDbMemoryOptions: OptionTable<IndexedDbMemoryOptions> = {
  store: optional(withMethod('get')),
};
