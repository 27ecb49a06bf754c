import { SessionMemory } from '@isoloop/core';
import { IndexedDbStore } from './indexed-db-store.ts';

export interface IndexedDbMemoryOptions {
  /** Store of the conversation; default: a new `IndexedDbStore` on the database `isoloop`. */
  readonly store?: IndexedDbStore;
}

/** A conversation in the browser. Each message is stored before the agent continues. */
export class IndexedDbMemory extends SessionMemory {
  constructor(sessionId: string, { store = new IndexedDbStore() }: IndexedDbMemoryOptions = {}) {
    super(store, sessionId, { durability: 'step' });
  }
}
