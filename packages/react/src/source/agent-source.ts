import { AgentError } from '@isoloop/core';
import type { LinkedAgent } from '@isoloop/core/host';

/** Endpoint with an agent, from `agentEndpoint()`. */
export interface AgentEndpoint {
  /** Address of the chat route. */
  readonly api: string;
}

/**
 * Where the agent of a chat runs: the result of `agentEndpoint()`, or of `agentWorker()` of
 * `@isoloop/web-worker`.
 */
export type AgentSource<Source = unknown> = AgentEndpoint | LinkedAgent<Source>;

export function isEndpoint(source: AgentSource | undefined): source is AgentEndpoint {
  return source !== undefined && 'api' in source;
}

/** Returns a source that is not an endpoint. Throws `CONFIGURATION` for any other value. */
export function checkedAgent(source: LinkedAgent | undefined, hook: string): LinkedAgent {
  if (typeof source?.link === 'function') return source;
  const sources = "agentEndpoint('/api/chat') or agentWorker(worker)";
  throw new AgentError('CONFIGURATION', `The source of ${hook} must be ${sources}.`);
}
