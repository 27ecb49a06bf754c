import { tabVersion, type TabMessage } from '../wire/tab-protocol.ts';
import type { LocalAgentOptions } from './local-agent.ts';
import type { PendingRequest, PendingRequests } from './runs/pending-requests.ts';
import type { RunFeed } from './runs/run-feed.ts';
import { SessionRuns } from './runs/session-runs.ts';
import type { RequestHost, SharedHost, SharedHostOptions } from './request-host.ts';
import { SessionLock } from './session-lock.ts';
import type { TabSettings } from './tab-options.ts';

export interface DirectHostOptions extends Omit<LocalAgentOptions, 'onCreated' | 'isAlone'> {
  /** Key that identifies the session among the sessions of the worker. */
  readonly key: string;
  /**
   * Options for tabs that share a session. `undefined` if this worker shares the session with no
   * other tab.
   */
  readonly tabs: TabSettings | undefined;
  readonly feed: RunFeed;
  readonly pending: PendingRequests;
  /** Creates the host that shares the session with other tabs. */
  readonly startTabs: (options: SharedHostOptions) => SharedHost;
  /** Called with the host that replaces this host. */
  readonly onShared: (host: SharedHost) => void;
}

/** Lock and channel of a session that other tabs may join. */
interface TabLink {
  readonly tabs: TabSettings;
  readonly channel: BroadcastChannel;
  readonly lock: SessionLock;
}

/**
 * Host of a session that only one tab uses. A host passes requests of pages to the agent. This host
 * holds the lock of the session and serves all requests with an agent in this worker. When it gets
 * the lock, it posts one message to other tabs. After that it listens for messages from other tabs.
 *
 * A shared host replaces this host at the first message from another tab. A shared host also
 * replaces it when the page may be frozen, because another tab may take over meanwhile. The
 * replacement is synchronous, so no message and no request is lost, and an active run continues.
 */
export class DirectHost implements RequestHost {
  readonly #options: DirectHostOptions;
  readonly #id: string = crypto.randomUUID();
  #tabLink: TabLink | undefined;
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
    channel.addEventListener('message', this.#receive);
    const lock = new SessionLock(name, {
      onLead: () => this.#lead(),
      onFollow: () => this.#share()?.onFollow(),
      onLost: () => this.#share()?.onLost(),
      onRefused: () => this.#leadAlone(),
    });
    this.#tabLink = { tabs, channel, lock };
  }

  start(): void {
    if (!this.#isClosing) void this.#tabLink?.lock.acquire();
  }

  pass(request: PendingRequest): void {
    const runs = this.#runs;
    if (!runs) return;
    const { id: requestId, body, controller } = request;
    request.lastLeaderId = runs.id;
    const served = { requestId, tabId: this.#id, body, signal: controller.signal };
    void runs.serve(served, request.resolve);
  }

  stop(requestId: string): void {
    this.#options.pending.abort(requestId);
  }

  sleep(): void {
    this.#share()?.sleep();
  }

  async close(isGone: boolean): Promise<void> {
    const { pending } = this.#options;
    this.#isClosing = true;
    if (!isGone) pending.abortAll();
    if (this.#runs && isGone) await this.#runs.stepDown();
    else if (this.#runs) {
      await pending.whenSettled();
      await this.#runs.close();
    }
    this.#tabLink?.lock.stop();
    this.#tabLink?.channel.close();
    pending.close();
  }

  /** Shares the session with no other tab, because no lock can decide which tab leads. */
  #leadAlone(): void {
    this.#tabLink?.channel.close();
    this.#tabLink = undefined;
    this.#lead();
  }

  /** Creates the runs of this worker and serves the pending requests. */
  #lead(): void {
    const { pending } = this.#options;
    const runs = this.#createRuns(false);
    // If the session is closing, no other leader will answer its requests.
    runs.onConflict = () => (this.#isClosing ? pending.close() : this.#share()?.onLost());
    this.#runs = runs;
    // Announces the leader to all tabs: a tab whose page sleeps does not wait for the lock, but may
    // wait for an answer.
    this.#tabLink?.channel.postMessage({
      version: tabVersion,
      senderId: this.#id,
      type: 'lead',
      leaderId: runs.id,
      run: undefined,
    } satisfies TabMessage);
    for (const request of pending) this.pass(request);
  }

  #createRuns(takesOver: boolean): SessionRuns {
    return new SessionRuns({ ...this.#options, isShared: this.#tabLink !== undefined, takesOver });
  }

  readonly #receive = ({ data }: MessageEvent<TabMessage>): void => this.#share()?.receive(data);

  /**
   * Replaces this host by a shared host and returns it. Returns `undefined` if tabs do not share
   * the session, or if the session is closing.
   */
  #share(): SharedHost | undefined {
    if (!this.#tabLink || this.#isClosing) return undefined;
    const { startTabs, onShared } = this.#options;
    const { channel, lock } = this.#tabLink;
    channel.removeEventListener('message', this.#receive);
    const host = startTabs({
      ...this.#options,
      ...this.#tabLink,
      id: this.#id,
      runs: this.#runs,
      createRuns: (takesOver) => this.#createRuns(takesOver),
    });
    lock.listener = host;
    onShared(host);
    return host;
  }
}
