import { AgentError } from '@isoloop/core';
import type { ExposedAgent, OptionsOf, OutputsOf } from '../wire/exposed-agent.ts';
import type { PagePart } from './page-part.ts';
import { createRemoteAgent, type RemoteAgent } from './remote-agent.ts';
import { linkWorker } from './worker-link.ts';

export interface ConnectOptions {
  /** Name of the agent, if the worker exposes several. */
  readonly agent?: string | undefined;
  /** Id of the conversation. */
  readonly sessionId: string;
  /** Passed to the worker's factory as `options`: any cloneable value; default `null`. */
  readonly options?: unknown;
  /**
   * Time limit in milliseconds for the worker to load; default 10,000. It is also the limit for a
   * sign of life while calls are pending.
   */
  readonly timeoutMs?: number;
  /**
   * The parts this page offers to the agent: `pageTools()`, `pageHooks()`, `pageApprovals()`,
   * `pageModel()`.
   */
  readonly page?: readonly PagePart[];
}

/**
 * `ConnectOptions` typed by the worker's agents: `agent` by their names, `options` by the factory's
 * parameter.
 */
export type ConnectOptionsFor<E extends ExposedAgent> = Omit<ConnectOptions, 'agent' | 'options'> &
  OptionsOf<E>;

/**
 * Connects to the agent that a worker exposes for a session. Several connections to one session
 * share its agent; the `options` of the first one count. Tabs of one session share an agent, too.
 * If the worker can't be reached, calls reject with `WORKER_FAILED`. Throws `CONFIGURATION` if
 * `worker` is not a worker or the `sessionId` is missing.
 *
 * With the type of the exposed agents, `connectAgent<typeof assistant>`, TypeScript checks the
 * agent's name, its options and the outputs of calls.
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
    !sessionId?.trim?.() ||
    !page.every?.((part) => part?.serve)
  )
    throw new AgentError(
      'CONFIGURATION',
      'connectAgent() takes a worker, a sessionId and page parts.',
    );
}
