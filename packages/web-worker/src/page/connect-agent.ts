import type { ExposedAgent, OptionsOf, OutputsOf } from '../wire/exposed-agent.ts';
import type { PagePart } from './parts/page-part.ts';
import { createRemoteAgent, type RemoteAgent } from './remote-agent.ts';
import { linkWorker } from './worker-link.ts';

/** Which session of a worker to connect to, and what the page adds to its agent. */
export interface ConnectOptions {
  /** Name of the agent, if the worker exposes several. */
  readonly agent?: string | undefined;
  /** Id of the conversation. */
  readonly sessionId: string;
  /**
   * Any cloneable value. The factory in the worker gets this value as `options`. Default: `null`.
   */
  readonly options?: unknown;
  /**
   * Maximum time until the worker has loaded, in milliseconds. Also the maximum time until the
   * worker answers a ping while agent calls are pending. Default: 10,000.
   */
  readonly timeoutMs?: number;
  /**
   * Parts that this page offers to the agent, from `pageTools()`, `pageHooks()`, `pageApprovals()`
   * and `pageModel()`. Default: none.
   */
  readonly page?: readonly PagePart[];
}

/**
 * `ConnectOptions` with the types of the worker's agents: `agent` has the type of their names, and
 * `options` has the type of the factory's options.
 */
export type ConnectOptionsFor<E extends ExposedAgent> = Omit<ConnectOptions, 'agent' | 'options'> &
  OptionsOf<E>;

/**
 * Connects to the agent that a worker exposes for a session, which is one stored conversation. All
 * connections to one session share its agent, even from several tabs. The agent gets the `options`
 * of the first connection. If the worker cannot be reached, agent calls reject with
 * `WORKER_FAILED`. Throws `CONFIGURATION` if `worker` is not a worker, the `sessionId` is missing,
 * or an item of `page` is not a page part.
 *
 * Pass the type of the exposed agents, as in `connectAgent<typeof assistant>`. TypeScript then
 * checks the agent's name, its options and the outputs of agent calls.
 *
 * @example
 * const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
 * const agent = connectAgent<Assistant>(worker, { sessionId: 'notes' });
 * const { text } = await agent.call('What is a Web Worker?');
 */
export function connectAgent<E extends ExposedAgent = ExposedAgent>(
  worker: Worker | SharedWorker,
  options: ConnectOptionsFor<E>,
): RemoteAgent<OutputsOf<E>> {
  const link = linkWorker(worker, options);
  return createRemoteAgent(link, worker, options) as RemoteAgent<OutputsOf<E>>;
}
