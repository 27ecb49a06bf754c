export { createAgentHandler } from './handler/agent-handler.ts';
export type { AgentHandler, RouteHandler } from './handler/agent-handler.ts';
export type {
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
} from './settings/handler-options.ts';
export { DurableStore } from './durable/durable-store.ts';
export { bearerToken } from './http/bearer-token.ts';
export type { UserTokens } from './http/bearer-token.ts';
export { publicFetch } from './http/public-fetch.ts';
export type { PublicFetchOptions } from './http/public-fetch.ts';
export { workersAi } from './workers-ai/workers-ai.ts';
export type { WorkersAiBinding, WorkersAiOptions } from './workers-ai/workers-ai.ts';
export type { EndpointPart } from './settings/endpoint-part.ts';
export type { SessionHomes } from './settings/session-home.ts';
export type { RateLimiter } from './settings/handler-options.ts';
