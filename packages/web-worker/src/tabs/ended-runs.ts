import { AgentError } from '@isoloop/core';
import type { AgentResult } from '@isoloop/core';
import type { EarlierRun, Journal } from './journal.ts';
import { earlierResult } from './takeover-events.ts';

/** How many ended runs are kept in the log. */
const keptRuns = 8;

/** The last runs of a session that have ended, also under earlier leaders. */
export class EndedRuns {
  #runs: readonly EarlierRun[] = [];

  /** The last one first. */
  get runs(): readonly EarlierRun[] {
    return this.#runs;
  }

  /** What an earlier leader has noted. */
  take(runs: readonly EarlierRun[]): void {
    this.#runs = runs;
  }

  /** `work`: the request's id. `answer`: the id of the message; nothing if there is none. */
  add(work: string, answer?: string): void {
    const others = this.#runs.filter((run) => run.work !== work);
    const run = { work, ...(answer !== undefined && { answer }) };
    this.#runs = [run, ...others].slice(0, keptRuns);
  }

  has(work: string): boolean {
    return this.#runs.some((run) => run.work === work);
  }

  /** As the log has it. Rejects with `WORKER_TERMINATED` if the log has no answer. */
  async resultOf(work: string, journal: Journal | undefined): Promise<AgentResult> {
    const answer = this.#runs.find((run) => run.work === work)?.answer;
    if (answer === undefined || !journal) throw endUnknown();
    return earlierResult(await journal.view(), answer, journal.sessionVersion);
  }
}

export function endUnknown(): AgentError {
  return new AgentError(
    'WORKER_TERMINATED',
    'The run has no answer in the log, and its tab was gone before it could say why.',
  );
}
