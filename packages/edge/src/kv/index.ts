export { KvMemory } from './kv-memory.ts';
export type { KvMemoryOptions } from './kv-memory.ts';
export { kvSessions } from './kv-sessions.ts';
export { KvStore } from './kv-store.ts';
export type { KvStoreOptions } from './kv-store.ts';
export { repairKvSession } from './repair-kv-session.ts';
export type { EchoMemoryOptions } from './log/echo-memory.ts';
