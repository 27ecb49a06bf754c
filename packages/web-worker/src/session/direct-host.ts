import type { Outputs } from '../wire/exposed-agent.ts';
import type { TabMessage } from '../wire/tab-protocol.ts';
import type { AgentSessionOptions } from './agent-session.ts';
import type { PendingRequest, PendingRequests } from './runs/pending-requests.ts';
import type { RunReaders } from './runs/run-readers.ts';
import { SessionRuns } from './runs/session-runs.ts';
import type { SessionHost, SharedHost, SharedHostOptions } from './session-host.ts';
import { SessionLock } from './session-lock.ts';
import type { Tabs } from './tab-options.ts';

export interface DirectHostOptions extends Omit<AgentSessionOptions, 'onBuilt' | 'alone'> {
  /** Key that distinguishes the session from the worker's other ones. */
  readonly key: string;
  /** Tab options; `undefined` if this worker shares the session with no other tab. */
  readonly tabs: Tabs | undefined;
  /** The worker's outputs, by name. */
  readonly outputs: Outputs;
  readonly readers: RunReaders;
  readonly pending: PendingRequests;
  /** Starts the code for several tabs. */
  readonly startTabs: (options: SharedHostOptions) => SharedHost;
  /** Receives the host that replaces this one. */
  readonly onShared: (host: SharedHost) => void;
}

/** The lock and the channel of a session that other tabs may join. */
interface Line {
  readonly tabs: Tabs;
  readonly channel: BroadcastChannel;
  readonly lock: SessionLock;
}

/**
 * The direct path of a page with one tab. It holds the session's lock and serves all requests with
 * an agent in this worker. It posts one message, when it gets the lock, and listens for other tabs.
 *
 * It hands everything over to a shared host at the first sign of another tab. It also does so when
 * the page may be frozen, because another tab may lead before it wakes. The handover is
 * synchronous, so it loses no message and no request, and a run that is under way continues.
 */
export class DirectHost implements SessionHost {
  readonly #options: DirectHostOptions;
  readonly #id: string = crypto.randomUUID();
  readonly #line: Line | undefined;
  #runs: SessionRuns | undefined;
  #isClosing = false;

  constructor(options: DirectHostOptions) {
    this.#options = options;
    const { tabs, key } = options;
    if (!tabs) {
      this.#lead();
      return;
    }
    const name = `${tabs.scope}:session:${key}`;
    const channel = new BroadcastChannel(name);
    channel.addEventListener('message', this.#hear);
    const lock = new SessionLock(name, {
      onLead: () => this.#lead(),
      onFollow: () => this.#share()?.onFollow(),
      onLost: () => this.#share()?.onLost(),
    });
    this.#line = { tabs, channel, lock };
  }

  enter(): void {
    if (!this.#isClosing) void this.#line?.lock.run();
  }

  give(request: PendingRequest): void {
    const runs = this.#runs;
    if (!runs) return;
    const { id, asked, controller } = request;
    request.givenTo = runs.id;
    const answer = runs.serve({ id, owner: this.#id, asked, signal: controller.signal });
    void runs.settle(answer, request.settle);
  }

  /** Does nothing: the request's own signal has reached its run. */
  abort(): void {}

  stop(work: string): void {
    this.#options.pending.abort(work);
  }

  /** Does nothing: the readers have their events from here. */
  onReader(): void {}

  sleep(): void {
    this.#share()?.sleep();
  }

  /** Does nothing: this host never sleeps. */
  wake(): void {}

  async close(gone: boolean): Promise<void> {
    const { pending } = this.#options;
    this.#isClosing = true;
    if (!gone) pending.abortAll();
    if (this.#runs && gone) await this.#runs.stepDown();
    else if (this.#runs) {
      await pending.settled();
      await this.#runs.close();
    }
    this.#line?.lock.stop();
    this.#line?.channel.close();
    pending.close();
  }

  /** Begins to serve the requests that wait. */
  #lead(): void {
    const { pending } = this.#options;
    const runs = this.#createRuns(false);
    // A closing session has no next leader that could settle its requests.
    runs.onConflict = () => (this.#isClosing ? pending.close() : this.#share()?.onLost());
    this.#runs = runs;
    // A tab whose page sleeps does not queue for the lock, but may wait for an answer.
    this.#line?.channel.postMessage({
      from: this.#id,
      type: 'lead',
      reign: runs.id,
      run: undefined,
    } satisfies TabMessage);
    for (const request of pending) this.give(request);
  }

  #createRuns(takesOver: boolean): SessionRuns {
    return new SessionRuns({ ...this.#options, shared: this.#line !== undefined, takesOver });
  }

  readonly #hear = ({ data }: MessageEvent<TabMessage>): void => this.#share()?.hear(data);

  /** Hands the session over. Returns nothing if no tab can share it, or if it is closed. */
  #share(): SharedHost | undefined {
    if (!this.#line || this.#isClosing) return undefined;
    const { outputs, readers, pending, startTabs, onShared } = this.#options;
    const { channel, lock } = this.#line;
    channel.removeEventListener('message', this.#hear);
    const host = startTabs({
      ...this.#line,
      outputs,
      readers,
      pending,
      id: this.#id,
      runs: this.#runs,
      createRuns: (takesOver) => this.#createRuns(takesOver),
    });
    lock.listener = host;
    onShared(host);
    return host;
  }
}
