import { AgentError } from '@isoloop/core';
import type { AgentEvent, AgentResult, EventBatch } from '@isoloop/core';
import type { AgentSessionOptions } from '../session/agent-session.ts';
import { unpackEvents } from '../wire/delta-runs.ts';
import type { Outputs } from '../wire/exposed-agent.ts';
import { Leadership } from './leadership.ts';
import { Leader } from './leader.ts';
import { RunReaders, type RunReader } from './run-readers.ts';
import { SessionPages } from '../session/session-pages.ts';
import { StallWatch } from './stall-watch.ts';
import { TabChannel } from './tab-channel.ts';
import type { Tabs } from './tab-options.ts';
import type { TabAnswer, TabMessage, TabPost, TabQuestion, TabWork } from '../wire/tab-protocol.ts';
import {
  PendingRequests,
  type PendingRequest,
  type PendingRequestOptions,
} from './pending-requests.ts';

export interface TabSessionOptions extends Omit<
  AgentSessionOptions,
  'onBuilt' | 'alone' | 'pages'
> {
  /** Tab options; `undefined` if this worker shares the session with no other tab. */
  readonly tabs: Tabs | undefined;
  /** The worker's outputs, by name. */
  readonly outputs: Outputs;
  /** Key that distinguishes the session from the worker's other ones. */
  readonly key: string;
}

type Role =
  /** No leader is known: the lock is not available yet, or all pages sleep. */
  | { readonly type: 'waiting' }
  | { readonly type: 'following'; readonly term: string }
  | { readonly type: 'leading'; readonly leader: Leader }
  /** The tab has left the session. */
  | { readonly type: 'closed' };

/**
 * A session as one tab's worker sees it. Its agent is here, or in the worker of the leading tab. In
 * the second case calls go to the leader and its events come here. When the leader is gone, another
 * tab takes over and continues its run from the log.
 */
export class TabSession {
  /** Tools, models and hooks of this worker's pages. The agent has them while it is here. */
  readonly pages: SessionPages = new SessionPages();
  readonly #options: TabSessionOptions;
  readonly #id: string = crypto.randomUUID();
  readonly #readers = new RunReaders();
  readonly #pending: PendingRequests = new PendingRequests(this.#readers);
  readonly #channel: TabChannel | undefined;
  readonly #leadership: Leadership | undefined;
  readonly #stallWatch: StallWatch | undefined;
  #role: Role = { type: 'waiting' };
  /** Whether another tab has sent a message. */
  #hasPeers = false;
  /** Whether there was another leader, whose run may need to be continued. */
  #hasFollowed = false;
  /** Whether this tab passed on the lead because it had no key. Another tab may have one. */
  #hasPassed = false;
  /** Run that a joined reader has stopped. A new leader may not know it yet. */
  #stopped: string | undefined;
  /** Term that another leader announced while this tab follows one. */
  #doubted: string | undefined;
  #isAwake = true;
  #isClosing = false;

  constructor(options: TabSessionOptions) {
    this.#options = options;
    const { tabs, key } = options;
    if (!tabs) {
      this.#lead(false);
      return;
    }
    const name = `${tabs.scope}:session:${key}`;
    this.#channel = new TabChannel(name, this.#id, (message) => this.#hear(message));
    const leadership = new Leadership({
      name,
      onLead: (stolen) => this.#lead(stolen || this.#hasFollowed || this.#readers.isWaiting),
      onFollow: () => {
        this.#hasFollowed = true;
        this.#post({ type: 'join' });
        this.#stallWatch?.check();
      },
      onLost: () => void this.#stepDown(),
    });
    this.#leadership = leadership;
    this.#stallWatch = new StallWatch({
      afterMs: tabs.stalledAfterMs,
      isNeeded: () =>
        this.#isAwake && this.#isHearing && (this.#pending.size > 0 || this.#readers.isWaiting),
      ask: () => this.#post({ type: 'ping' }),
      onStalled: () => void leadership.steal(),
    });
    if (options.after) void options.after.then(() => this.#getInLine());
    else this.#getInLine();
  }

  /** Requests a run. */
  async run(
    work: Exclude<TabWork, { readonly type: 'resume' }>,
    controller: AbortController,
    reader?: RunReader,
  ): Promise<AgentResult> {
    this.#pending.abortLeft();
    return (await this.#wait({
      asked: { type: 'work', work },
      controller,
      ...(reader && { reader }),
    })) as AgentResult;
  }

  /**
   * Resumes the active run from its start, whichever tab requested it. Otherwise resumes an
   * interrupted run, if there is one. `gone`: raised when the reader has gone.
   */
  async resume(
    controller: AbortController,
    reader: RunReader,
    gone: AbortSignal,
  ): Promise<AgentResult | undefined> {
    const joined = this.#join(controller.signal, reader, gone);
    if (joined) return joined;
    const left = new Promise<undefined>((resolve) =>
      gone.addEventListener('abort', () => resolve(undefined)),
    );
    const resumed = this.#wait({
      asked: { type: 'work', work: { type: 'resume' } },
      controller,
      reader,
      gone,
    });
    resumed.catch(() => {});
    const result = await Promise.race([resumed, left]);
    return (result as AgentResult | undefined) ?? this.#join(controller.signal, reader, gone);
  }

  ask<T extends TabAnswer>(question: TabQuestion): Promise<T> {
    return this.#wait({
      asked: { type: 'ask', question },
      controller: new AbortController(),
    }) as Promise<T>;
  }

  /**
   * Passes the events of all runs to a listener, whichever tab requested them. Begins at the start
   * of the active run. Returns a function that stops it.
   */
  watch(listener: (events: EventBatch) => void): () => void {
    const stop = this.#readers.watch(listener);
    this.#stallWatch?.check();
    return stop;
  }

  /** Gives up the lead, because the page may freeze at any moment. */
  sleep(): void {
    this.#isAwake = false;
    if (this.#role.type === 'leading') void this.#stepDown();
    else this.#leadership?.stop();
  }

  wake(): void {
    this.#isAwake = true;
    this.#getInLine();
  }

  /**
   * Leaves the session. Resolves when the log is in order. `gone`: leaves its runs for another tab
   * to continue.
   */
  async close({ gone = false }: { readonly gone?: boolean } = {}): Promise<void> {
    const role = this.#role;
    this.#isClosing = true;
    if (!gone) this.#pending.abortAll();
    if (role.type === 'leading') {
      // Step down at once, before this page's tools are gone.
      const { term } = role.leader;
      const isForeign = this.#hasPeers && term.isBusyFor(this.#id);
      if (!gone && !isForeign) await this.#pending.settled();
      await (gone || isForeign || role.leader.hasForeign ? term.stepDown() : term.close());
    }
    this.#role = { type: 'closed' };
    this.#stallWatch?.stop();
    this.#leadership?.stop();
    this.#channel?.close();
    this.#pending.close();
  }

  #wait(options: PendingRequestOptions): Promise<AgentResult | TabAnswer> {
    return this.#pending.add(options, (wait) => {
      const { id, controller } = wait;
      controller.signal.addEventListener('abort', () => {
        if (this.#role.type === 'following')
          this.#post({ type: 'abort', reign: this.#role.term, id });
      });
      this.#give(wait);
      this.#stallWatch?.check();
    });
  }

  /** Joins the active run. Returns nothing if there is none. */
  #join(
    signal: AbortSignal,
    reader: RunReader,
    gone: AbortSignal,
  ): Promise<AgentResult | undefined> | undefined {
    const { work } = this.#readers.mirror;
    if (work === undefined) return undefined;
    const abort = (): void => {
      this.#stopped = work;
      this.#abort(work);
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    this.#tellOfReaders();
    this.#stallWatch?.check();
    return this.#readers
      .join(reader, gone)
      .finally(() => signal.removeEventListener('abort', abort));
  }

  /**
   * Tells the leader that this tab reads the run, so that a slow requesting reader does not delay
   * it.
   */
  #tellOfReaders(): void {
    const { work } = this.#readers.mirror;
    if (this.#role.type === 'following' && work !== undefined)
      this.#post({ type: 'read', reign: this.#role.term, id: work });
  }

  #abort(work: string): void {
    const role = this.#role;
    if (role.type === 'following') return this.#post({ type: 'abort', reign: role.term, id: work });
    this.#pending.abort(work);
    if (role.type === 'leading') role.leader.abort(work);
  }

  /** Passes all pending requests to a new leader. */
  #giveAll(): void {
    for (const wait of this.#pending) this.#give(wait);
    if (this.#stopped !== undefined) this.#abort(this.#stopped);
  }

  /** Passes a request to the leader, once per leader. */
  #give(wait: PendingRequest): void {
    const role = this.#role;
    const { id, asked, controller } = wait;
    const again = wait.givenTo !== undefined;
    if (role.type === 'leading' && wait.givenTo !== role.leader.term.id) {
      wait.givenTo = role.leader.term.id;
      void role.leader.serve(
        { id, owner: this.#id, asked, again, signal: controller.signal },
        wait.settle,
      );
    } else if (role.type === 'following' && wait.givenTo !== role.term) {
      wait.givenTo = role.term;
      const aborted = controller.signal.aborted;
      if (asked.type === 'ask')
        this.#post({ type: 'ask', reign: role.term, id, question: asked.question });
      else this.#post({ type: 'work', reign: role.term, id, work: asked.work, aborted, again });
    }
  }

  #lead(takesOver: boolean): void {
    const { tabs, ...options } = this.#options;
    const leader = new Leader({
      ...options,
      pages: this.pages,
      shared: tabs !== undefined,
      attempts: tabs?.attempts ?? 0,
      takesOver,
      readers: this.#readers,
      post: (message) => this.#post(message),
      hasPeers: () => this.#hasPeers,
      onConflict: () => {
        if (this.#role.type === 'leading' && this.#role.leader === leader) void this.#stepDown();
      },
    });
    const { term } = leader;
    this.#role = { type: 'leading', leader };
    const begin = (): void => {
      if (this.#role.type !== 'leading' || this.#role.leader !== leader || term.over) return;
      leader.announce();
      term.tellEnd();
      this.#giveAll();
    };
    if (!takesOver) return begin();
    term.ready.then(begin, (error: unknown) => {
      if (term.over) return;
      if (this.#hasPeers && !this.#hasPassed) {
        this.#hasPassed = true;
        return void this.#stepDown();
      }
      term.leaveOpen(AgentError.from(error));
      begin();
    });
  }

  /** Ends this tab's term. While its page is awake, it queues for the lock again. */
  async #stepDown(): Promise<void> {
    const role = this.#role;
    if (role.type !== 'leading' || this.#isClosing || !this.#leadership) return;
    this.#role = { type: 'waiting' };
    await role.leader.term.stepDown();
    this.#leadership.stop();
    this.#getInLine();
  }

  /** Queues for the lock, if this tab may lead. */
  #getInLine(): void {
    if (this.#isAwake && this.#isHearing) void this.#leadership?.run();
  }

  get #isHearing(): boolean {
    const { type } = this.#role;
    return (type === 'waiting' || type === 'following') && !this.#isClosing;
  }

  #hear(message: TabMessage): void {
    this.#hasPeers = true;
    if (this.#isHearing) this.#hearLeader(message);
    else if (this.#role.type !== 'leading' || this.#isClosing) return;
    // The earlier leader was only slow. It has ended the run, which must not run again.
    else if (message.type === 'done') this.#settle(message);
    else if (message.type === 'abort') this.#abort(message.id);
    else {
      if (message.type === 'work' && message.work.type !== 'resume') this.#pending.abortLeft();
      this.#role.leader.hear(message);
    }
  }

  #hearLeader(message: TabMessage): void {
    if (message.type === 'lead') return this.#follow(message);
    if (message.type === 'pong') this.#stallWatch?.heard();
    if (this.#role.type !== 'following' || !('reign' in message)) return;
    if (message.reign !== this.#role.term) return this.#doubt(message);
    if (message.type === 'done' || message.type === 'events') this.#stallWatch?.heard();
    if (message.type === 'events') {
      this.#readers.show(unpackEvents<AgentEvent>(message.items), message.work, message.turn);
      this.#stallWatch?.check();
    } else if (message.type === 'done') this.#settle(message);
  }

  #settle({ to, id, outcome }: Extract<TabMessage, { type: 'done' }>): void {
    if (to === this.#id) this.#pending.settle(id, outcome);
  }

  /** Asks who leads: two tabs claim it, one of which may have slept. The real leader answers. */
  #doubt({ type, reign }: Extract<TabMessage, { readonly reign: string }>): void {
    if ((type !== 'pong' && type !== 'events') || reign === this.#doubted) return;
    this.#doubted = reign;
    this.#post({ type: 'join' });
  }

  #follow({ reign, to, run }: Extract<TabMessage, { type: 'lead' }>): void {
    if (to !== undefined && to !== this.#id) return;
    this.#stallWatch?.heard();
    this.#hasPassed = false;
    if (this.#role.type === 'following' && this.#role.term === reign) return;
    this.#role = { type: 'following', term: reign };
    this.#readers.catchUp(run);
    if (this.#readers.hasJoined) this.#tellOfReaders();
    this.#giveAll();
    this.#stallWatch?.check();
  }

  #post(message: TabPost): void {
    this.#channel?.post(message);
  }
}
