import type { TabMessage } from '../wire/tab-protocol.ts';
import type { PendingRequests, PendingRequest } from './runs/pending-requests.ts';
import type { RunFeed } from './runs/run-feed.ts';
import type { SessionRuns } from './runs/session-runs.ts';
import type { SessionPages } from './page/session-pages.ts';
import type { LockListener, SessionLock } from './session-lock.ts';
import type { Outputs } from '../wire/exposed-agent.ts';
import type { TabSettings } from './tab-options.ts';

/**
 * Passes the requests of a session's pages to the agent, which is in this worker or in the worker
 * of another tab.
 */
export interface RequestHost {
  /** Starts the host: waits for the lock of the session. */
  start(): void;
  /** Passes a new request to the agent's worker. */
  pass(request: PendingRequest): void;
  /**
   * Aborts the run of a request in another tab. A run in this worker uses the signal of the request
   * itself.
   */
  abort?(requestId: string): void;
  /** Aborts the active run on behalf of a reader that joined the run. */
  stop(requestId: string): void;
  /** Called when a reader has joined the active run or watches all runs. */
  onReader?(): void;
  /** Called when the page may be frozen at any moment. */
  sleep(): void;
  /** Called when the page is active again. */
  wake?(): void;
  /**
   * Leaves the session. Resolves when the log is complete. `isGone`: the page disappeared, so its
   * runs stay in the log for another tab to continue.
   */
  close(isGone: boolean): Promise<void>;
}

/** Host that shares the session with other tabs. */
export interface SharedHost extends RequestHost, LockListener {
  /** Handles a message from another tab. */
  receive(message: TabMessage): void;
}

/** State that a shared host takes over from the `DirectHost`. */
export interface SharedHostOptions {
  readonly tabs: TabSettings;
  /** Outputs of the worker, by name. */
  readonly outputs: Outputs;
  /** Id of this tab. */
  readonly id: string;
  readonly channel: BroadcastChannel;
  readonly lock: SessionLock;
  readonly pages: SessionPages;
  readonly feed: RunFeed;
  readonly pending: PendingRequests;
  /** Runs of this worker, if this worker is the leader. */
  readonly runs: SessionRuns | undefined;
  /**
   * Function that creates the runs of this worker, with a new agent, when the worker becomes the
   * leader.
   */
  readonly createRuns: (takesOver: boolean) => SessionRuns;
}
