import type { TabMessage } from '../wire/tab-protocol.ts';
import type { PendingRequests, PendingRequest } from './runs/pending-requests.ts';
import type { RunReaders } from './runs/run-readers.ts';
import type { SessionRuns } from './runs/session-runs.ts';
import type { LockListener, SessionLock } from './session-lock.ts';
import type { Outputs } from '../wire/exposed-agent.ts';
import type { Tabs } from './tab-options.ts';

/** Takes the requests of a session's pages to its agent: in this worker or in another tab's. */
export interface SessionHost {
  /** Begins to take part in the session. */
  enter(): void;
  /** Passes a new request on. */
  give(request: PendingRequest): void;
  /** Aborts the run of a request, which may run elsewhere. */
  abort(work: string): void;
  /** Aborts the active run for a reader that joined it. */
  stop(work: string): void;
  /** Called when a reader of the session's runs came. */
  onReader(): void;
  /** Prepares for a page that may be frozen at any moment. */
  sleep(): void;
  wake(): void;
  /**
   * Leaves the session. Resolves when the log is in order. `gone`: leaves its runs for another tab
   * to continue.
   */
  close(gone: boolean): Promise<void>;
}

/** A host that shares the session with other tabs. */
export interface SharedHost extends SessionHost, LockListener {
  hear(message: TabMessage): void;
}

/** What a shared host takes over from the direct one. */
export interface SharedHostOptions {
  readonly tabs: Tabs;
  /** The worker's outputs, by name. */
  readonly outputs: Outputs;
  /** Id of this tab. */
  readonly id: string;
  readonly channel: BroadcastChannel;
  readonly lock: SessionLock;
  readonly readers: RunReaders;
  readonly pending: PendingRequests;
  /** The runs of this worker, if it leads. */
  readonly runs: SessionRuns | undefined;
  /** Starts a new term with an agent of its own. */
  readonly createRuns: (takesOver: boolean) => SessionRuns;
}
