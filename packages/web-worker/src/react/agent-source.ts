import type { ConnectOptions } from '../page/connect-agent.ts';
import type { AgentLink } from './agent-link.ts';

/** Options of a link to an agent. Only workers use the fields besides `sessionId`. */
export type LinkOptions = ConnectOptions;

/** Endpoint with an agent, from `agentEndpoint()`. */
export interface AgentEndpoint {
  /** Address of the chat route. */
  readonly api: string;
  /** Links a chat to the agent. `latest` returns the endpoint whose options a request uses. */
  link(options: LinkOptions, latest: () => AgentEndpoint): AgentLink;
}

/** Where the agent of a chat runs: a worker, or the result of `agentEndpoint()`. */
export type AgentSource = Worker | SharedWorker | AgentEndpoint;
