import type { JsonValue } from '@isoloop/core';
import { createRemoteAgent, type RemoteAgent } from './remote-agent.ts';
import { linkWorker } from './worker-link.ts';

export interface ConnectOptions {
  /** Names the conversation. */
  readonly sessionId: string;
  /** For the worker's factory, as `options`; default `null`. */
  readonly options?: JsonValue;
  /** Milliseconds the worker has to load and answer; default 10,000. */
  readonly timeoutMs?: number;
}

/**
 * Connects to the agent that a worker exposes for a session. Several connections to one session share its agent; the `options` of the
 * first one count. A worker that can't be reached shows in the calls, as `WORKER_FAILED`.
 */
export function connectAgent(worker: Worker, { sessionId, options = null, timeoutMs = 10_000 }: ConnectOptions): RemoteAgent {
  return createRemoteAgent({ sessionId, worker, ...linkWorker(worker, { sessionId, options, timeoutMs }) });
}
