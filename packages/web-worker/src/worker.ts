export { exposeAgent } from './worker/expose-agent.ts';
export type { ExposeOptions } from './worker/expose-agent.ts';
export type { TabsOptions } from './session/tab-options.ts';
export type { ExposedAgent, Outputs } from './wire/exposed-agent.ts';
export type { AgentFactories, AgentFactory, WorkerAgentSetup } from './session/agent-session.ts';
export type { PageSide } from './session/page/session-pages.ts';
export { IndexedDbMemory } from './store/indexed-db-memory.ts';
export type { IndexedDbMemoryOptions } from './store/indexed-db-memory.ts';
export { IndexedDbStore } from './store/indexed-db-store.ts';
export type { IndexedDbStoreOptions } from './store/indexed-db-store.ts';
export { IndexedDbSessions } from './store/indexed-db-sessions.ts';
export type {
  ImportOptions,
  IndexedDbSessionsOptions,
  SessionExport,
  StorageState,
} from './store/indexed-db-sessions.ts';
