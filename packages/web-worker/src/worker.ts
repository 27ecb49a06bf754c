export { exposeAgent } from './expose-agent.ts';
export type { AgentFactory, AgentSetup } from './agent-session.ts';
export { IndexedDbMemory } from './indexed-db-memory.ts';
export type { IndexedDbMemoryOptions } from './indexed-db-memory.ts';
export { IndexedDbStore } from './indexed-db-store.ts';
export type { IndexedDbStoreOptions } from './indexed-db-store.ts';
