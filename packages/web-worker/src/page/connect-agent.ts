import { AgentError } from '@isoloop/core';
import type { ExposedAgent, OptionsOf, OutputsOf } from '../wire/exposed-agent.ts';
import type { PagePart } from './page-part.ts';
import { createRemoteAgent, type RemoteAgent } from './remote-agent.ts';
import { linkWorker } from './worker-link.ts';

export interface ConnectOptions {
  /** Which of the agents, where the worker exposes several by name. */
  readonly agent?: string | undefined;
  /** Names the conversation. */
  readonly sessionId: string;
  /** For the worker's factory, as `options`: anything that can be cloned; default `null`. */
  readonly options?: unknown;
  /**
   * Milliseconds the worker has to load, and to answer whether it is alive while something waits
   * for it; default 10,000.
   */
  readonly timeoutMs?: number;
  /**
   * What this page does for the agent: `pageTools()`, `pageHooks()`, `pageApprovals()`,
   * `pageModel()`.
   */
  readonly page?: readonly PagePart[];
}

/** Typed by what the worker exposes: `agent` by its names, `options` by what its factory takes. */
export type ConnectOptionsFor<E extends ExposedAgent> = Omit<ConnectOptions, 'agent' | 'options'> &
  OptionsOf<E>;

/**
 * Connects to the agent that a worker exposes for a session. Several connections to one session
 * share its agent; the `options` of the first one count. Tabs of one session share an agent, too. A
 * worker that can't be reached shows in the calls, as `WORKER_FAILED`. Throws `CONFIGURATION` for
 * what is no worker, and where the `sessionId` is missing.
 *
 * With the type of what the worker exposes, `connectAgent<typeof assistant>`, the agent's name, its
 * options and the outputs of calls are checked.
 */
export function connectAgent<E extends ExposedAgent = ExposedAgent>(
  worker: Worker | SharedWorker,
  options: ConnectOptionsFor<E>,
): RemoteAgent<OutputsOf<E>> {
  checkOptions(worker, options);
  return createRemoteAgent({
    sessionId: options.sessionId,
    worker,
    ...linkWorker(worker, options),
  }) as RemoteAgent<OutputsOf<E>>;
}

function checkOptions(worker: unknown, options: unknown): void {
  const { sessionId, page = [] } = Object(options) as Partial<ConnectOptions>;
  if (
    !Object(worker).addEventListener ||
    !sessionId ||
    !sessionId.trim ||
    !page.every?.((part) => part?.serve)
  )
    throw new AgentError(
      'CONFIGURATION',
      'connectAgent() takes a worker, a sessionId and an array of page parts.',
    );
}
