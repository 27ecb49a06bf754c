import type { AgentResult } from '@isoloop/core';
import { packEvents } from '../wire/delta-runs.ts';
import { toOutcome } from '../wire/outcome.ts';
import { LeaderTerm, type LeaderTermOptions } from './leader-term.ts';
import type { TabAnswer, TabAsked, TabMessage, TabOutcome, TabPost } from '../wire/tab-protocol.ts';

export interface LeaderOptions extends Omit<LeaderTermOptions, 'tell'> {
  /** To the other tabs. */
  readonly post: (message: TabPost) => void;
  /** Whether other tabs were heard of. */
  readonly hasPeers: () => boolean;
  /**
   * Another writer has taken the log over; of a session without tabs its callers are told instead.
   */
  readonly onConflict: () => void;
}

/** A piece of work or a question, and who asks. */
export interface Request {
  readonly id: string;
  /** The tab. */
  readonly owner: string;
  readonly asked: TabAsked;
  /** Another leader had it before. */
  readonly again?: boolean | undefined;
  readonly signal: AbortSignal;
}

/**
 * Connects a leader's term with the session's tabs: passes on their requests, and posts the events
 * of its runs.
 */
export class Leader {
  readonly term: LeaderTerm;
  readonly #options: LeaderOptions;
  /** The work of other tabs. */
  readonly #foreign: Map<string, AbortController> = new Map();
  /** What became of their last work: who heard from another leader meanwhile asks again. */
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

  /** Whether another tab waits for something that it asked for. */
  get hasForeign(): boolean {
    return this.#foreign.size > 0;
  }

  /** Tells one tab, or all, that it leads. */
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

  /** Posts no outcome after the term is over: the next leader has the request, too. */
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

  /** Aborts another tab's work, or a run that an earlier leader had begun. */
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
