import { AgentError } from '@isoloop/core';
import type { AgentResult } from '@isoloop/core';
import type { EarlierRun, Journal } from './journal.ts';
import { earlierResult } from './logged-result.ts';

/** Number of ended runs that the log keeps. */
const keptRuns = 8;

/** The session's last ended runs, including runs under earlier leaders. */
export class EndedRuns {
  #runs: readonly EarlierRun[] = [];

  /** The ended runs, newest first. */
  get runs(): readonly EarlierRun[] {
    return this.#runs;
  }

  /** Replaces all runs with those that an earlier leader recorded. */
  take(runs: readonly EarlierRun[]): void {
    this.#runs = runs;
  }

  /**
   * Adds a run. `work`: the request's id. `answer`: the answer's message id, if there is an answer.
   */
  add(work: string, answer?: string): void {
    const others = this.#runs.filter((run) => run.work !== work);
    const run = { work, ...(answer !== undefined && { answer }) };
    this.#runs = [run, ...others].slice(0, keptRuns);
  }

  has(work: string): boolean {
    return this.#runs.some((run) => run.work === work);
  }

  /** Returns the result from the log. Rejects with `WORKER_TERMINATED` if the log has no answer. */
  async resultOf(work: string, journal: Journal | undefined): Promise<AgentResult> {
    const answer = this.#runs.find((run) => run.work === work)?.answer;
    if (answer === undefined || !journal) throw endUnknown();
    return earlierResult(await journal.view(), answer, journal.sessionVersion);
  }
}

export function endUnknown(): AgentError {
  return new AgentError(
    'WORKER_TERMINATED',
    'The run has no answer in the log, and its tab closed before it reported why.',
  );
}
