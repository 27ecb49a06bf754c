import { AgentError, type AgentResult } from '@isoloop/core';
import type { ClaimableMemory } from './claimable-memory.ts';
import type { EndedRun } from './noted-run.ts';
import { earlierResult } from './logged-result.ts';

/** Maximum number of ended runs to keep. */
const maxRuns = 8;

/**
 * Last ended runs of a session, including runs under earlier leaders. The leader is the tab whose
 * worker has the agent of the session.
 */
export class EndedRuns {
  /** Ended runs, newest first. */
  runs: readonly EndedRun[] = [];

  /**
   * Adds the run of a request. `answerId`: id of the answer's message, if there is an answer.
   */
  add(requestId: string, answerId?: string): void {
    const otherRuns = this.runs.filter((run) => run.requestId !== requestId);
    this.runs = [{ requestId, answerId }, ...otherRuns].slice(0, maxRuns);
  }

  has(requestId: string): boolean {
    return this.runs.some((run) => run.requestId === requestId);
  }

  /**
   * Returns the result of a run from the log. Rejects with `WORKER_TERMINATED` if the log has no
   * answer.
   */
  async resultOf(requestId: string, memory: ClaimableMemory | undefined): Promise<AgentResult> {
    const answerId = this.runs.find((run) => run.requestId === requestId)?.answerId;
    if (answerId === undefined || !memory) throw unknownEndError();
    return earlierResult(await memory.view(), answerId, memory.sessionVersion);
  }
}

export function unknownEndError(): AgentError {
  return new AgentError(
    'WORKER_TERMINATED',
    'The run has no answer in the log, and its tab has closed.',
  );
}
