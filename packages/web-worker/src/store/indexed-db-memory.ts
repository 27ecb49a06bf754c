import { SessionMemory } from '@isoloop/core';
import { IndexedDbStore } from './indexed-db-store.ts';

export interface IndexedDbMemoryOptions {
  /** Default: one of its own on the database `isoloop`. */
  readonly store?: IndexedDbStore;
}

/** A conversation kept in the browser: each message is stored before the agent goes on. */
export class IndexedDbMemory extends SessionMemory {
  constructor(sessionId: string, { store = new IndexedDbStore() }: IndexedDbMemoryOptions = {}) {
    super(store, sessionId, { durability: 'step' });
  }
}
