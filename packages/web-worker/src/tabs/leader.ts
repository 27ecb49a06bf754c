import type { AgentResult } from '@isoloop/core';
import { packEvents } from '../wire/delta-runs.ts';
import { toOutcome } from '../wire/outcome.ts';
import { Reign, type ReignOptions } from './reign.ts';
import type { TabAnswer, TabAsked, TabMessage, TabOutcome, TabPost } from '../wire/tab-protocol.ts';

export interface LeaderOptions extends Omit<ReignOptions, 'tell'> {
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
  readonly signal: AbortSignal;
}

/**
 * A reign as the session's tabs meet it: takes what they ask for to it, and tells them of its runs.
 */
export class Leader {
  readonly reign: Reign;
  readonly #options: LeaderOptions;
  /** The work of other tabs. */
  readonly #foreign: Map<string, AbortController> = new Map();
  /** What became of their last work: who heard from another leader meanwhile asks again. */
  readonly #done: Map<string, TabOutcome> = new Map();

  constructor(options: LeaderOptions) {
    this.#options = options;
    const { readers, post, hasPeers } = options;
    const reign: Reign = new Reign({
      ...options,
      tell(events, work, turn) {
        if (reign.over) return;
        readers.show(events, work, turn);
        if (hasPeers())
          post({ type: 'events', reign: reign.id, work, turn, items: packEvents(events) });
      },
    });
    this.reign = reign;
  }

  /** Whether another tab waits for something that it asked for. */
  get hasForeign(): boolean {
    return this.#foreign.size > 0;
  }

  /** Tells one tab, or all, that it leads. */
  announce(to?: string): void {
    const { post, readers } = this.#options;
    if (!this.reign.over)
      post({
        type: 'lead',
        reign: this.reign.id,
        ...(to !== undefined && { to }),
        run: readers.mirror.soFar,
      });
  }

  /** What becomes of it in a reign that is over is not told: the next leader has it too. */
  async serve({ asked, ...job }: Request, settle: (outcome: TabOutcome) => void): Promise<void> {
    const { reign } = this;
    await reign.ready.catch(() => {});
    if (reign.over) return;
    const outcome = await toOutcome<AgentResult | TabAnswer>(
      asked.type === 'ask'
        ? reign.answer(asked.question)
        : reign.perform({ ...job, work: asked.work }),
    );
    if (this.#options.shared && codeOf(outcome) === 'SESSION_CONFLICT') this.#options.onConflict();
    else if (!reign.over) settle(outcome);
  }

  hear(message: TabMessage): void {
    const { reign } = this;
    const { post, readers } = this.#options;
    const { from: owner } = message;
    if (message.type === 'join') {
      const answer = (): void => this.announce(owner);
      void reign.ready.then(answer, answer);
    } else if (message.type === 'ping') post({ type: 'pong', reign: reign.id });
    if (!('reign' in message) || message.reign !== reign.id) return;
    if (message.type === 'read') return readers.unpace(message.id);
    if (message.type !== 'work' && message.type !== 'ask') return;
    const { id } = message;
    const tell = (outcome: TabOutcome): void =>
      post({ type: 'done', reign: reign.id, to: owner, id, outcome });
    const controller = new AbortController();
    if (message.type === 'work') {
      const done = this.#done.get(id);
      if (done) return tell(done);
      if (this.#foreign.has(id)) return;
      this.#foreign.set(id, controller);
      if (message.aborted) controller.abort();
    }
    void this.serve({ id, owner, asked: message, signal: controller.signal }, (outcome) => {
      if (this.#foreign.delete(id)) this.#keep(id, outcome);
      tell(outcome);
    });
  }

  /** Aborts another tab's work, or a run that an earlier leader had begun. */
  abort(work: string): void {
    this.#foreign.get(work)?.abort();
    this.reign.abort(work);
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
