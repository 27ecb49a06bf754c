import { AgentError } from '@isoloop/core';
import type { AgentResult } from '@isoloop/core';
import { shownSoFar } from '../session/chat-turn.ts';
import { endUnknown } from '../session/log/ended-runs.ts';
import { noteRun, type Journal } from '../session/log/journal.ts';
import { leftOpen } from '../session/log/logged-result.ts';
import type { RunReaders } from '../session/runs/run-readers.ts';
import { nobody, onAbort, type Job, type SessionRuns } from '../session/runs/session-runs.ts';
import { callOptions } from '../wire/call-options.ts';
import type { Outputs } from '../wire/exposed-agent.ts';
import { ending, takeoverEvents, takeoverGap } from './takeover/takeover-events.ts';
import { takeoverOf, type Takeover } from './takeover/takeover.ts';

/** A tab's request for a run, for the session's leader. */
export interface TabJob extends Job {
  /** An earlier leader received it, and may have started it. */
  readonly again?: boolean | undefined;
}

export interface LeaderTermOptions {
  readonly runs: SessionRuns;
  /** Whether an earlier leader may have left an interrupted run. */
  readonly takesOver: boolean;
  readonly attempts: number;
  readonly readers: RunReaders;
  /** The worker's outputs, by name. */
  readonly outputs: Outputs;
}

/** The earlier leader's last run: its result, or its continuation. */
interface PreviousRun {
  readonly work: string;
  readonly result: Promise<AgentResult>;
  readonly controller: AbortController;
  /** The tab that requested it, once it has repeated its request. */
  owner?: string;
}

/** A leader's duty to the runs of earlier leaders. It continues them, or tells how they ended. */
export class LeaderTerm {
  /**
   * Resolves when the interrupted run's fate is known. Rejects if the agent cannot be built for it.
   */
  readonly ready: Promise<void>;
  readonly #options: LeaderTermOptions;
  #previousRun: PreviousRun | undefined;
  /** End of the interrupted run, until its readers know it. */
  #untold: AgentResult | undefined;

  constructor(options: LeaderTermOptions) {
    this.#options = options;
    this.ready = options.takesOver ? this.#takeOver() : Promise.resolve();
    this.ready.catch(() => {});
  }

  /** Whether another tab's call or a continued run is active. */
  isBusyFor(other: string): boolean {
    const { owner } = this.#options.runs;
    const tab = owner === nobody ? (this.#previousRun?.owner ?? nobody) : owner;
    return tab !== undefined && tab !== other;
  }

  /**
   * Runs a request. If an earlier leader started it, returns that run's result. Returns nothing if
   * there was nothing to resume.
   */
  async perform(job: TabJob): Promise<AgentResult | undefined> {
    const { runs } = this.#options;
    // Building the agent reads the log. If it fails, the call reports the reason below.
    if (job.again) await runs.agent().catch(() => {});
    if (runs.cutOff === job.id) await this.#takeOver();
    if (this.#previousRun?.work === job.id) {
      const { controller, result } = this.#previousRun;
      this.#previousRun.owner = job.owner;
      onAbort(job.signal, () => controller.abort());
      return result;
    }
    if (runs.ended.has(job.id)) return runs.ended.resultOf(job.id, runs.journal);
    return runs.perform(job);
  }

  /** Aborts a run that an earlier leader started. */
  abort(work: string): void {
    if (this.#previousRun?.work === work) this.#previousRun.controller.abort();
  }

  /**
   * Leaves the interrupted run in the log, for a call without input. Its readers get the reason.
   */
  leaveOpen(
    reason: AgentError,
    work: string | undefined = this.#options.readers.mirror.work,
  ): void {
    const left = leftOpen(reason);
    const result = Promise.resolve(left);
    if (work !== undefined) this.#previousRun = { work, result, controller: new AbortController() };
    this.#untold = left;
  }

  /**
   * Ends the readers' stream of an interrupted run that nobody continues. Call it after all tabs
   * know the leader.
   */
  tellEnd(): void {
    const { readers, runs } = this.#options;
    const { work, events } = readers.mirror;
    if (this.#untold && work !== undefined) runs.tell(ending([...events], this.#untold), work);
    this.#untold = undefined;
  }

  /** Looks for an interrupted run and continues it. */
  async #takeOver(): Promise<void> {
    const { runs, readers, attempts } = this.#options;
    const { mirror } = readers;
    await runs.agent();
    runs.cutOff = undefined;
    const { journal } = runs;
    if (!journal) return readers.forget();
    const left = await takeoverOf(journal);
    // If nothing of a run is in the log, its tab requests it again.
    if (mirror.work !== left.work) readers.forget();
    const work = left.work ?? crypto.randomUUID();
    runs.ended.take(left.earlier);
    if (left.type === 'cut-off') {
      const mayGoOn = left.attempts < attempts || left.hasAnswer;
      if (mayGoOn) return this.#goOn(journal, work, left);
      const message = `The run's tab is gone. It was continued ${left.attempts} times.`;
      return this.leaveOpen(new AgentError('WORKER_TERMINATED', message), work);
    }
    const { result } = left;
    const controller = new AbortController();
    this.#previousRun = { work, result: endedRun(result), controller };
    this.#previousRun.result.catch(() => {});
    runs.ended.add(work, result.message.id);
    runs.tell(takeoverEvents([...mirror.events], left.messages), work);
    this.#untold = result;
  }

  #goOn(
    journal: Journal,
    work: string,
    left: Extract<Takeover, { readonly type: 'cut-off' }>,
  ): void {
    const { runs, readers, outputs } = this.#options;
    const { mirror } = readers;
    const { output, run } = left;
    const seen = [...mirror.events];
    const attempts = left.attempts + 1;
    const controller = new AbortController();
    const result = runs.goOn(controller, async (agent, onStart) => {
      const turn = seen.length ? mirror.turn : await shownSoFar(agent);
      const options = callOptions({ ...(output !== undefined && { output }) }, controller, outputs);
      const stream = agent.stream(undefined, options);
      await noteRun(journal, { work, run, attempts, output, earlier: runs.ended.runs }, true);
      if (seen.length) runs.tell(takeoverEvents(seen, left.messages), work);
      const course = { id: work, controller, turn, attempts, gap: takeoverGap, output, onStart };
      return runs.forward(stream, course);
    });
    this.#previousRun = { work, result, controller };
  }
}

async function endedRun(result: AgentResult): Promise<AgentResult> {
  if (result.reason !== 'error') return result;
  throw endUnknown();
}
