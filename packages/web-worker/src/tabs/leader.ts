import { packEvents } from '../wire/wire-events.ts';
import type { SessionRuns, TabRequest } from '../session/runs/session-runs.ts';
import type { TabMessage, TabOutcome, TabPost } from '../wire/tab-protocol.ts';
import { RunTakeover, type RunTakeoverOptions } from './run-takeover.ts';

interface LeaderOptions extends RunTakeoverOptions {
  /** Function that sends a message to the other tabs. */
  readonly post: (message: TabPost) => void;
  /** Returns whether another tab has sent a message. */
  readonly hasPeers: () => boolean;
  /** Called when another worker has become the writer of the log. */
  readonly onConflict: () => void;
}

/**
 * Connects the runs of the leader with the other tabs of the session. Runs the requests of these
 * tabs, and posts the events of all runs to them.
 */
export class Leader {
  readonly runs: SessionRuns;
  /** Handles the runs of earlier leaders. */
  readonly takeover: RunTakeover;
  readonly #options: LeaderOptions;
  /** Controllers of pending requests of other tabs, by request id. */
  readonly #foreignControllers: Map<string, AbortController> = new Map();
  /**
   * Outcomes of the last requests of other tabs, by request id. A tab that took another tab for the
   * leader meanwhile sends its request again.
   */
  readonly #outcomes: Map<string, TabOutcome> = new Map();

  constructor(options: LeaderOptions) {
    const { runs, feed, post, hasPeers, onConflict } = options;
    this.#options = options;
    this.runs = runs;
    runs.onConflict = onConflict;
    feed.onPublish = (events, requestId, start) => {
      // A former leader follows another tab, and publishes the events of that tab.
      if (!runs.isOver && hasPeers())
        post({ type: 'events', leaderId: runs.id, requestId, start, items: packEvents(events) });
    };
    this.takeover = new RunTakeover(options);
  }

  /** Whether a request of another tab is pending. */
  get hasForeignRequests(): boolean {
    return this.#foreignControllers.size > 0;
  }

  /** Announces to one tab, or to all tabs, that this worker is the leader. */
  announce(receiverId?: string): void {
    const { runs, post, feed } = this.#options;
    if (!runs.isOver)
      post({
        type: 'lead',
        leaderId: runs.id,
        receiverId,
        run: feed.activeRun?.state,
      });
  }

  /** Serves a request after `takeover.ready`, when the runs of an earlier leader are known. */
  async serve(request: TabRequest, resolve: (outcome: TabOutcome) => void): Promise<void> {
    const { runs, takeover } = this;
    await takeover.ready.catch(() => {});
    if (runs.isOver) return;
    await runs.serve(request, resolve, (taskRequest) => takeover.perform(taskRequest));
  }

  /** Handles a message from another tab. */
  receive(message: TabMessage): void {
    const { runs, takeover } = this;
    const { post, feed } = this.#options;
    const { senderId: tabId } = message;
    if (message.type === 'join') {
      const announce = (): void => this.announce(tabId);
      void takeover.ready.then(announce, announce);
    } else if (message.type === 'ping') post({ type: 'pong', leaderId: runs.id });
    if (!('leaderId' in message) || message.leaderId !== runs.id) return;
    if (message.type === 'read') return feed.addForeignReader(message.requestId);
    if (message.type !== 'task' && message.type !== 'command') return;
    const { requestId, aborted, isResent } = message;
    const postOutcome = (outcome: TabOutcome): void =>
      post({ type: 'done', leaderId: runs.id, receiverId: tabId, requestId, outcome });
    const controller = new AbortController();
    if (message.type === 'task') {
      const outcome = this.#outcomes.get(requestId);
      if (outcome) return postOutcome(outcome);
      if (this.#foreignControllers.has(requestId)) return;
      this.#foreignControllers.set(requestId, controller);
      if (aborted) controller.abort();
    }
    const request = { requestId, tabId, body: message, isResent, signal: controller.signal };
    void this.serve(request, (outcome) => {
      if (this.#foreignControllers.delete(requestId)) this.#keepOutcome(requestId, outcome);
      postOutcome(outcome);
    });
  }

  /** Aborts a request of another tab, or a run that an earlier leader started. */
  abort(requestId: string): void {
    this.#foreignControllers.get(requestId)?.abort();
    this.takeover.abort(requestId);
  }

  #keepOutcome(id: string, outcome: TabOutcome): void {
    this.#outcomes.set(id, outcome);
    const [oldest] = this.#outcomes.keys();
    if (this.#outcomes.size > maxOutcomes) this.#outcomes.delete(oldest!);
  }
}

const maxOutcomes = 32;
