export { exposeAgent } from './expose-agent.ts';
export type { AgentFactories, AgentFactory, AgentSetup } from './agent-session.ts';
export type { PageSide } from './session-pages.ts';
export { IndexedDbMemory } from './indexed-db-memory.ts';
export type { IndexedDbMemoryOptions } from './indexed-db-memory.ts';
export { IndexedDbStore } from './indexed-db-store.ts';
export type { IndexedDbStoreOptions } from './indexed-db-store.ts';
export { IndexedDbSessions } from './indexed-db-sessions.ts';
export type { ImportOptions, IndexedDbSessionsOptions, SessionExport, StorageState } from './indexed-db-sessions.ts';
