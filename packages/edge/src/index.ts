export { createAgentHandler } from './agent-handler.ts';
export type {
  AgentHandler,
  AgentHandlerOptions,
  AgentSessionClass,
  AgentSetup,
  Caller,
  EdgeEnv,
  EdgeLimits,
  MemorySetup,
  RequestVariables,
  RouteHandler,
  SessionAgent,
  SessionOptions,
  SessionSetup,
} from './handler-options.ts';
export { DurableStore } from './store/durable-store.ts';
export { KvMemory } from './store/kv-memory.ts';
export type { KvMemoryOptions } from './store/kv-memory.ts';
export { KvStore } from './store/kv-store.ts';
export type { KvStoreOptions } from './store/kv-store.ts';
export { bearerToken } from './http/bearer-token.ts';
export type { UserTokens } from './http/bearer-token.ts';
export { publicFetch } from './proxy/public-fetch.ts';
export type { PublicFetchOptions } from './proxy/public-fetch.ts';
export { workersAi } from './proxy/workers-ai.ts';
export type { WorkersAiBinding, WorkersAiOptions } from './proxy/workers-ai.ts';
export type { RateLimiter } from './handler-parts.ts';
