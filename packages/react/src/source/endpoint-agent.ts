import {
  checkFields,
  checkOptions,
  either,
  func,
  object,
  optional,
  positive,
  string,
  type OptionTable,
} from '@isoloop/core/options';
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
  checkFields('agentEndpoint()', { api }, { api: string });
  checkOptions('agentEndpoint()', options, endpointTable);
  const endpoint: Endpoint = { api: api.replace(/\/$/, ''), options };
  return endpoint;
}

export interface Endpoint extends AgentEndpoint {
  readonly options: AgentEndpointOptions;
}

const endpointTable: OptionTable<AgentEndpointOptions> = {
  headers: optional(either(object, func)),
  body: optional(either(object, func)),
  credentials: optional(either(string, func)),
  fetch: optional(func),
  timeoutMs: optional(positive),
  silenceMs: optional(positive),
};
