import { checkArguments } from '@isoloop/core/error';
import type { AgentEndpoint } from './agent-source.ts';
import type { AgentEndpointOptions } from './endpoint-routes.ts';

/**
 * Describes an endpoint of `@isoloop/edge` for `useAgentChat`. `api` is the address of its chat
 * route. The options may change from render to render.
 *
 * @example
 * const endpoint = agentEndpoint('/api/chat', { headers: { authorization: `Bearer ${token}` } });
 * const { messages } = useAgentChat(endpoint, { sessionId: 'notes' });
 */
export function agentEndpoint(api: string, options: AgentEndpointOptions = {}): AgentEndpoint {
  const { headers: _h, body: _b, credentials: _c, fetch: _f, ...limitsAndOthers } = options;
  const { timeoutMs: _limit, silenceMs: _s, ...others } = limitsAndOthers;
  const takes = 'api, headers, body, credentials, fetch, timeoutMs, silenceMs';
  checkArguments(`agentEndpoint() takes ${takes}`, typeof api === 'string', others);
  const endpoint: Endpoint = { api: api.replace(/\/$/, ''), options };
  return endpoint;
}

export interface Endpoint extends AgentEndpoint {
  readonly options: AgentEndpointOptions;
}
