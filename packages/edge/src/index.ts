export { createAgentHandler } from './agent-handler.ts';
export type {
  AgentHandler,
  AgentHandlerOptions,
  AgentSetup,
  Caller,
  EdgeEnv,
  EdgeLimits,
  MemorySetup,
  RequestVariables,
  SessionSetup,
} from './handler-options.ts';
export { DurableStore } from './durable-store.ts';
export { KvMemory } from './kv-memory.ts';
export type { KvMemoryOptions } from './kv-memory.ts';
export { KvStore } from './kv-store.ts';
export type { KvStoreOptions } from './kv-store.ts';
