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
  SessionAgent,
  SessionOptions,
  SessionSetup,
} from './handler-options.ts';
export { DurableStore } from './durable-store.ts';
export { KvMemory } from './kv-memory.ts';
export type { KvMemoryOptions } from './kv-memory.ts';
export { KvStore } from './kv-store.ts';
export type { KvStoreOptions } from './kv-store.ts';
export { bearerToken } from './bearer-token.ts';
export type { UserTokens } from './bearer-token.ts';
export type { LlmOptions, LlmSetup, LlmUpstream } from './llm-options.ts';
export { publicFetch } from './public-fetch.ts';
export type { PublicFetchOptions } from './public-fetch.ts';
export type { RateLimiter } from './rate-limit.ts';
export type { SchemaChecker } from './response-format.ts';
export { workersAi } from './workers-ai.ts';
export type { WorkersAiBinding, WorkersAiOptions } from './workers-ai.ts';
