import { AgentError } from '@isoloop/core';
import type { PendingRequest } from '../session/runs/pending-requests.ts';
import type { SessionRuns } from '../session/runs/session-runs.ts';
import type { SharedHost, SharedHostOptions } from '../session/request-host.ts';
import { unpackEvents } from '../wire/wire-events.ts';
import { tabVersion, type TabMessage, type TabPost } from '../wire/tab-protocol.ts';
import { Leader } from './leader.ts';
import { StallWatch } from './stall-watch.ts';
import { TabChannel } from './tab-channel.ts';
import { TabPages } from './tab-pages.ts';

type Role =
  /** This tab knows no leader. The lock is not available yet, or all pages sleep. */
  | { readonly type: 'waiting' }
  | { readonly type: 'following'; readonly leaderId: string }
  | { readonly type: 'leading'; readonly leader: Leader }
  /** This tab has left the session. */
  | { readonly type: 'closed' };

/**
 * Host of a session that several tabs share. One tab is the leader, and its worker has the agent.
 * The other tabs are followers: they send their requests to the leader and get the events of its
 * runs. When the leader ends, another tab becomes the leader and continues the interrupted run from
 * the log.
 */
export class SharedTabHost implements SharedHost {
  readonly #options: SharedHostOptions;
  readonly #channel: TabChannel;
  readonly #stallWatch: StallWatch;
  readonly #pages: TabPages;
  #role: Role = { type: 'waiting' };
  /** Whether another tab has sent a message. */
  #hasPeers = false;
  /** Whether another tab was the leader before. This tab may then have to continue a run. */
  #hasFollowed = false;
  /**
   * Whether this tab gave up the lead because it could not create the agent, for example without an
   * API key. Another tab may be able to.
   */
  #hasPassed = false;
  /** Id of the request whose run a joined reader has aborted. A new leader has to be told again. */
  #stoppedRequestId: string | undefined;
  /** Id of a leader other than the one that this tab follows, from a message of another tab. */
  #doubtedLeaderId: string | undefined;
  /** Reason why this tab refuses all requests. `undefined`: it passes them to the leader. */
  #refusal: AgentError | undefined;
  #isAwake = true;
  #isClosing = false;

  constructor(options: SharedHostOptions) {
    this.#options = options;
    const { tabs, id, channel, lock, pages, feed, pending, runs } = options;
    this.#channel = new TabChannel(channel, id, (message) => this.receive(message));
    this.#stallWatch = new StallWatch({
      afterMs: tabs.stalledAfterMs,
      isNeeded: () =>
        this.#isAwake && this.#isFollower && !this.#refusal && (pending.size > 0 || feed.isWaiting),
      ping: () => this.#post({ type: 'ping' }),
      onStalled: () => void lock.steal(),
    });
    const post = (message: TabPost): void => this.#post(message);
    this.#pages = new TabPages({ pages, post, timeoutMs: tabs.stalledAfterMs });
    if (runs) this.#role = { type: 'leading', leader: this.#createLeader(runs, false) };
  }

  /** Waits for the lock, if this tab may become the leader. */
  start(): void {
    if (this.#isAwake && this.#isFollower) void this.#options.lock.acquire();
  }

  /** Passes a request to the leader, once for each leader. */
  pass(request: PendingRequest): void {
    if (this.#refusal) return request.resolve({ ok: false, error: this.#refusal.toJSON() });
    const role = this.#role;
    const { id: requestId, body, controller } = request;
    const isResent = request.lastLeaderId !== undefined;
    if (role.type === 'leading' && request.lastLeaderId !== role.leader.runs.id) {
      request.lastLeaderId = role.leader.runs.id;
      void role.leader.serve(
        { requestId, tabId: this.#options.id, body, isResent, signal: controller.signal },
        request.resolve,
      );
    } else if (role.type === 'following' && request.lastLeaderId !== role.leaderId) {
      const { leaderId } = role;
      request.lastLeaderId = leaderId;
      const { aborted } = controller.signal;
      this.#post({ ...body, leaderId, requestId, aborted, isResent });
    }
    this.#stallWatch.check();
  }

  abort(requestId: string): void {
    const role = this.#role;
    if (role.type === 'following')
      return this.#post({ type: 'abort', leaderId: role.leaderId, requestId });
    this.#options.pending.abort(requestId);
    if (role.type === 'leading') role.leader.abort(requestId);
  }

  stop(requestId: string): void {
    this.#stoppedRequestId = requestId;
    this.abort(requestId);
  }

  onReader(): void {
    if (this.#options.feed.hasJoined) this.#reportReader();
    this.#stallWatch.check();
  }

  onLead(stolen: boolean): void {
    this.#lead(stolen || this.#hasFollowed || this.#options.feed.isWaiting);
  }

  onFollow(): void {
    this.#hasFollowed = true;
    this.#post({ type: 'join' });
    this.#stallWatch.check();
  }

  onLost(): void {
    void this.#stepDown();
  }

  onRefused(): void {
    this.#refuseAll(noLocksError());
  }

  /** Lets another tab become the leader, because the page may be frozen at any moment. */
  sleep(): void {
    this.#isAwake = false;
    this.#pages.leave();
    if (this.#role.type === 'leading') void this.#stepDown();
    else this.#options.lock.stop();
  }

  wake(): void {
    this.#isAwake = true;
    if (this.#role.type === 'following') this.#pages.follow(this.#role.leaderId);
    this.start();
  }

  async close(isGone: boolean): Promise<void> {
    const role = this.#role;
    const { id, lock, pending } = this.#options;
    this.#isClosing = true;
    if (!isGone) pending.abortAll();
    if (role.type === 'leading') {
      // If other tabs wait for this leader, steps down at once, while the page's tools are still
      // connected.
      const { runs, takeover, hasForeignRequests } = role.leader;
      const isForeign = this.#hasPeers && takeover.isBusyForOthers(id);
      if (!isGone && !isForeign) await pending.whenSettled();
      await (isGone || isForeign || hasForeignRequests ? runs.stepDown() : runs.close());
    }
    this.#role = { type: 'closed' };
    this.#pages.leave();
    this.#pages.clear();
    this.#stallWatch.stop();
    lock.stop();
    this.#channel.close();
    pending.close();
  }

  /**
   * Tells the leader that this tab reads the active run, so that a slow reader of the request does
   * not delay the run.
   */
  #reportReader(): void {
    const requestId = this.#options.feed.activeRun?.requestId;
    if (this.#role.type === 'following' && requestId !== undefined)
      this.#post({ type: 'read', leaderId: this.#role.leaderId, requestId });
  }

  /** Passes all pending requests to a new leader. */
  #passAll(): void {
    for (const request of this.#options.pending) this.pass(request);
    if (this.#stoppedRequestId !== undefined) this.abort(this.#stoppedRequestId);
  }

  #lead(takesOver: boolean): void {
    const leader = this.#createLeader(this.#options.createRuns(takesOver), takesOver);
    const { runs, takeover } = leader;
    this.#refusal = undefined;
    this.#role = { type: 'leading', leader };
    this.#pages.leave();
    const begin = (): void => {
      if (this.#role.type !== 'leading' || this.#role.leader !== leader || runs.isOver) return;
      leader.announce();
      takeover.showEnd();
      this.#passAll();
    };
    if (!takesOver) return begin();
    takeover.ready.then(begin, (error: unknown) => {
      if (runs.isOver) return;
      if (this.#hasPeers && !this.#hasPassed) {
        this.#hasPassed = true;
        return void this.#stepDown();
      }
      takeover.leaveOpen(AgentError.from(error));
      begin();
    });
  }

  #createLeader(runs: SessionRuns, takesOver: boolean): Leader {
    const { pending } = this.#options;
    return new Leader({
      ...this.#options,
      runs,
      takesOver,
      whenPagesKnown: (asker, signal) => this.#pages.whenPagesKnown(asker, signal),
      post: (message) => this.#post(message),
      hasPeers: () => this.#hasPeers,
      onConflict: () => {
        // If this tab is leaving, no other leader will answer its requests.
        if (this.#isClosing) return pending.close();
        if (this.#role.type === 'leading' && this.#role.leader.runs === runs) void this.#stepDown();
      },
    });
  }

  /** Stops leading. If the page is active, the tab waits for the lock again. */
  async #stepDown(): Promise<void> {
    const role = this.#role;
    if (role.type !== 'leading' || this.#isClosing) return;
    this.#role = { type: 'waiting' };
    this.#pages.clear();
    await role.leader.runs.stepDown();
    this.#options.lock.stop();
    this.start();
  }

  get #isFollower(): boolean {
    const { type } = this.#role;
    return (type === 'waiting' || type === 'following') && !this.#isClosing;
  }

  receive(message: TabMessage): void {
    this.#hasPeers = true;
    // A tab of another version that joins gets an announcement, so that it refuses its requests.
    if (message.version !== tabVersion && (this.#isFollower || message.type !== 'join'))
      return this.#refuseVersion(message);
    if (this.#isFollower) this.#receiveFromLeader(message);
    else if (this.#role.type !== 'leading' || this.#isClosing) return;
    // The earlier leader was only slow and has now ended the run, so the request must not run
    // again.
    else if (message.type === 'done') this.#resolve(message);
    else if (message.type === 'abort') this.abort(message.requestId);
    else if (message.type === 'pages' || message.type === 'page-update') {
      if (message.leaderId === this.#role.leader.runs.id) this.#pages.receiveFromTab(message);
    } else {
      if (message.type === 'task' && message.task.type !== 'resume')
        this.#options.pending.abortAbandoned();
      this.#role.leader.receive(message);
    }
  }

  #receiveFromLeader(message: TabMessage): void {
    if (message.type === 'lead') return this.#follow(message);
    if (message.type === 'pong') this.#stallWatch.reset();
    if (this.#role.type !== 'following' || !('leaderId' in message)) return;
    if (message.leaderId !== this.#role.leaderId) return this.#doubt(message);
    if (message.type === 'done' || message.type === 'events') this.#stallWatch.reset();
    if (message.type === 'page-call') {
      if (message.receiverId === this.#options.id) void this.#pages.receiveCall(message);
    } else if (message.type === 'events') {
      this.#options.feed.publish(unpackEvents(message.items), message.requestId, message.start);
      this.#stallWatch.check();
    } else if (message.type === 'done') this.#resolve(message);
  }

  /** Refuses all requests until the leader of another version has ended. */
  #refuseVersion({ type }: TabMessage): void {
    if (type === 'lead' && this.#isFollower) this.#refuseAll(otherVersionError());
  }

  #refuseAll(reason: AgentError): void {
    this.#refusal = reason;
    this.#role = { type: 'waiting' };
    this.#passAll();
  }

  #resolve({ receiverId, requestId, outcome }: Extract<TabMessage, { type: 'done' }>): void {
    if (receiverId === this.#options.id) this.#options.pending.resolve(requestId, outcome);
  }

  /**
   * Asks all tabs who leads, because messages of two leaders arrive. One of them may have been
   * frozen and is no longer the leader. The present leader answers.
   */
  #doubt({ type, leaderId }: Extract<TabMessage, { readonly leaderId: string }>): void {
    if ((type !== 'pong' && type !== 'events') || leaderId === this.#doubtedLeaderId) return;
    this.#doubtedLeaderId = leaderId;
    this.#post({ type: 'join' });
  }

  #follow({ leaderId, receiverId, run }: Extract<TabMessage, { type: 'lead' }>): void {
    if (receiverId !== undefined && receiverId !== this.#options.id) return;
    this.#stallWatch.reset();
    this.#hasPassed = false;
    this.#refusal = undefined;
    if (this.#role.type === 'following' && this.#role.leaderId === leaderId) return;
    this.#role = { type: 'following', leaderId };
    this.#options.feed.catchUp(run);
    if (this.#isAwake) this.#pages.follow(leaderId);
    if (this.#options.feed.hasJoined) this.#reportReader();
    this.#passAll();
    this.#stallWatch.check();
  }

  #post(message: TabPost): void {
    this.#channel.post(message);
  }
}

function otherVersionError(): AgentError {
  const message = 'Another tab leads this session with another version of the library. Reload it.';
  return new AgentError('SESSION_CONFLICT', message, { retryable: true });
}

function noLocksError(): AgentError {
  const message = 'The browser refuses Web Locks, so this tab cannot share the session. Reload it.';
  return new AgentError('SESSION_CONFLICT', message, { retryable: true });
}
