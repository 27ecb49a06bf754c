export { IndexedDbMemory } from './indexed-db-memory.ts';
export type { IndexedDbMemoryOptions } from './indexed-db-memory.ts';
export { IndexedDbSessions } from './indexed-db-sessions.ts';
export type {
  ImportOptions,
  IndexedDbSessionsOptions,
  SessionExport,
  StorageState,
} from './indexed-db-sessions.ts';
export { IndexedDbStore } from './indexed-db-store.ts';
export type { IndexedDbStoreOptions } from './indexed-db-store.ts';
