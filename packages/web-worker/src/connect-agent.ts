import type { JsonValue } from '@isoloop/core';
import type { PagePart } from './page-part.ts';
import { createRemoteAgent, type RemoteAgent } from './remote-agent.ts';
import { linkWorker } from './worker-link.ts';

export interface ConnectOptions<O extends JsonValue = JsonValue> {
  /** Which of the agents, where the worker exposes several by name. */
  readonly agent?: string;
  /** Names the conversation. */
  readonly sessionId: string;
  /** For the worker's factory, as `options`; default `null`. */
  readonly options?: O;
  /** Milliseconds the worker has to load, and to answer whether it is alive while something waits for it; default 10,000. */
  readonly timeoutMs?: number;
  /** What this page does for the agent: `pageTools()`, `pageHooks()`, `pageApprovals()`, `pageModel()`. */
  readonly page?: readonly PagePart[];
}

/**
 * Connects to the agent that a worker exposes for a session. Several connections to one session share its agent; the `options` of the
 * first one count. A worker that can't be reached shows in the calls, as `WORKER_FAILED`.
 */
export function connectAgent<O extends JsonValue = JsonValue>(worker: Worker, options: ConnectOptions<O>): RemoteAgent {
  return createRemoteAgent({ sessionId: options.sessionId, worker, ...linkWorker(worker, options) });
}
