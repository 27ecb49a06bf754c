import type { Memory } from '@isoloop/core';
import { isCutOff } from '@isoloop/core/log';
import { canLock } from '../session-lock.ts';
import { claimableMemory, claimMemory, type ClaimableMemory } from './claimable-memory.ts';
import { EndedRuns } from './ended-runs.ts';
import { lastResult } from './logged-result.ts';
import { notedRun, noteRun, type NotedRun } from './noted-run.ts';

export interface LeaderLogOptions {
  /**
   * Whether tabs may share the session. If so, the log stores data about each run, and an earlier
   * leader can no longer write to the log.
   */
  readonly isShared: boolean;
  /** Whether an earlier leader may have left an interrupted run. `RunTakeover` then reads it. */
  readonly takesOver: boolean;
}

/**
 * Log of a session whose runs are in this worker. Lets no other worker write to it, and knows how
 * earlier runs ended.
 */
export class LeaderLog {
  /** Last ended runs of the session, including runs of earlier leaders. */
  readonly ended: EndedRuns = new EndedRuns();
  /** Id of the request whose run is interrupted in the log. A later run removes it. */
  cutOffRequestId: string | undefined;
  /** Memory of the session. Set after `open`, if tabs can share the session. */
  memory: ClaimableMemory | undefined;
  readonly #options: LeaderLogOptions;
  /** Memory that this worker claims before each run, because the browser has no locks. */
  #unlockedMemory: ClaimableMemory | undefined;

  constructor(options: LeaderLogOptions) {
    this.#options = options;
  }

  /** Claims the memory of a new agent, and reads how earlier runs ended. */
  async open(memory: Memory): Promise<void> {
    const { isShared, takesOver } = this.#options;
    if (isShared) this.memory = await claimMemory(memory, takesOver);
    else if (!(await canLock())) this.#unlockedMemory = claimableMemory(memory);
    if (!takesOver && this.memory) await this.#readEndedRuns(this.memory);
  }

  /**
   * Makes this worker the only writer of a log without locks. A run of another tab then ends with
   * `SESSION_CONFLICT`.
   */
  async claimUnlocked(): Promise<void> {
    await this.#unlockedMemory?.claim({ write: true });
  }

  /** Notes in the log that a run has begun. The log then has no cut-off run any more. */
  async note(run: NotedRun): Promise<void> {
    if (this.cutOffRequestId !== undefined) this.ended.add(this.cutOffRequestId);
    this.cutOffRequestId = undefined;
    if (this.memory) await noteRun(this.memory, run);
  }

  /** Lets another worker write to the log. */
  async release(): Promise<void> {
    await this.memory?.release();
  }

  /** A tab may request such a run again. */
  async #readEndedRuns(memory: ClaimableMemory): Promise<void> {
    const view = await memory.view();
    const lastRun = notedRun(view);
    if (!lastRun) return;
    this.ended.runs = lastRun.earlierRuns ?? [];
    if (view.openRunId === lastRun.runId && isCutOff(view))
      this.cutOffRequestId = lastRun.requestId;
    else this.ended.add(lastRun.requestId, lastResult(view).message.id);
  }
}
