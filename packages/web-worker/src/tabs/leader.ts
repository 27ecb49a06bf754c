import type { AgentResult } from '@isoloop/core';
import { packEvents } from '../wire/delta-runs.ts';
import { toOutcome } from '../wire/outcome.ts';
import { LeaderTerm, type LeaderTermOptions } from './leader-term.ts';
import type { TabAnswer, TabAsked, TabMessage, TabOutcome, TabPost } from '../wire/tab-protocol.ts';

export interface LeaderOptions extends Omit<LeaderTermOptions, 'tell'> {
  /** Sends a message to the other tabs. */
  readonly post: (message: TabPost) => void;
  /** Whether another tab has sent a message. */
  readonly hasPeers: () => boolean;
  /**
   * Called when another writer has claimed the log. Without tabs, the callers get the error
   * instead.
   */
  readonly onConflict: () => void;
}

/** A request or question of a tab. */
export interface Request {
  readonly id: string;
  /** Id of the tab. */
  readonly owner: string;
  readonly asked: TabAsked;
  /** An earlier leader received it. */
  readonly again?: boolean | undefined;
  readonly signal: AbortSignal;
}

/**
 * Connects a leader's term with the session's tabs. Passes on their requests, and posts the events
 * of its runs.
 */
export class Leader {
  readonly term: LeaderTerm;
  readonly #options: LeaderOptions;
  /** Requests of other tabs, by id. */
  readonly #foreign: Map<string, AbortController> = new Map();
  /** Outcomes of their last requests. A tab that followed another leader meanwhile asks again. */
  readonly #done: Map<string, TabOutcome> = new Map();

  constructor(options: LeaderOptions) {
    this.#options = options;
    const { readers, post, hasPeers } = options;
    const term: LeaderTerm = new LeaderTerm({
      ...options,
      tell(events, work, turn) {
        if (term.over) return;
        readers.show(events, work, turn);
        if (hasPeers())
          post({ type: 'events', reign: term.id, work, turn, items: packEvents(events) });
      },
    });
    this.term = term;
  }

  /** Whether another tab has a pending request. */
  get hasForeign(): boolean {
    return this.#foreign.size > 0;
  }

  /** Tells one tab, or all tabs, that this worker leads. */
  announce(to?: string): void {
    const { post, readers } = this.#options;
    if (!this.term.over)
      post({
        type: 'lead',
        reign: this.term.id,
        ...(to !== undefined && { to }),
        run: readers.mirror.soFar,
      });
  }

  /**
   * Serves a request. Posts no outcome after the term ends, because the next leader has the request
   * too.
   */
  async serve({ asked, ...job }: Request, settle: (outcome: TabOutcome) => void): Promise<void> {
    const { term } = this;
    await term.ready.catch(() => {});
    if (term.over) return;
    const outcome = await toOutcome<AgentResult | TabAnswer>(
      asked.type === 'ask'
        ? term.answer(asked.question)
        : term.perform({ ...job, work: asked.work }),
    );
    if (this.#options.shared && codeOf(outcome) === 'SESSION_CONFLICT') this.#options.onConflict();
    else if (!term.over) settle(outcome);
  }

  hear(message: TabMessage): void {
    const { term } = this;
    const { post, readers } = this.#options;
    const { from: owner } = message;
    if (message.type === 'join') {
      const answer = (): void => this.announce(owner);
      void term.ready.then(answer, answer);
    } else if (message.type === 'ping') post({ type: 'pong', reign: term.id });
    if (!('reign' in message) || message.reign !== term.id) return;
    if (message.type === 'read') return readers.unpace(message.id);
    if (message.type !== 'work' && message.type !== 'ask') return;
    const { id } = message;
    const tell = (outcome: TabOutcome): void =>
      post({ type: 'done', reign: term.id, to: owner, id, outcome });
    const controller = new AbortController();
    if (message.type === 'work') {
      const done = this.#done.get(id);
      if (done) return tell(done);
      if (this.#foreign.has(id)) return;
      this.#foreign.set(id, controller);
      if (message.aborted) controller.abort();
    }
    const again = message.type === 'work' && message.again;
    const request = { id, owner, asked: message, again, signal: controller.signal };
    void this.serve(request, (outcome) => {
      if (this.#foreign.delete(id)) this.#keep(id, outcome);
      tell(outcome);
    });
  }

  /** Aborts another tab's request, or a run that an earlier leader started. */
  abort(work: string): void {
    this.#foreign.get(work)?.abort();
    this.term.abort(work);
  }

  #keep(id: string, outcome: TabOutcome): void {
    this.#done.set(id, outcome);
    const [oldest] = this.#done.keys();
    if (this.#done.size > keptOutcomes) this.#done.delete(oldest!);
  }
}

const keptOutcomes = 32;

function codeOf(outcome: TabOutcome): string | undefined {
  if (!outcome.ok) return outcome.error.code;
  return (outcome.value as Partial<AgentResult> | undefined)?.error?.code;
}
