import type { AgentResult, Msg } from '@isoloop/core';
import { isCutOff, resumptionOf, type SessionView } from '@isoloop/core/log';
import type { ClaimableMemory } from '../session/log/claimable-memory.ts';
import { notedRun, type EndedRun, type NotedRun } from '../session/log/noted-run.ts';
import type { Asker } from '../wire/protocol.ts';
import { lastResult } from '../session/log/logged-result.ts';

/**
 * Last run of an earlier leader, read from the log. The leader is the tab whose worker has the
 * agent.
 */
export type LastRun = {
  /** Id of the request for the run. `undefined` if no tab requested the run. */
  readonly requestId: string | undefined;
  readonly messages: readonly Msg[];
  /** Earlier runs, newest first. */
  readonly earlierRuns: readonly EndedRun[];
} & (
  | { readonly type: 'ended'; readonly result: AgentResult }
  /**
   * `cut-off`: the run was interrupted. `attempts`: number of times that a tab has continued the
   * run.
   */
  | {
      readonly type: 'cut-off';
      readonly runId: string;
      readonly attempts: number;
      readonly outputName: string | undefined;
      /** Page that asked for the run, if the log has it. */
      readonly asker: Asker | undefined;
      /** Whether the log already has the answer. Continuing the run then needs no model request. */
      readonly hasAnswer: boolean;
    }
);

/**
 * Reads the last run from the log. If the user interrupted the run but the log lacks its end,
 * writes the end.
 */
export async function readLastRun(memory: ClaimableMemory): Promise<LastRun> {
  const view = await memory.view();
  const { openRunId, endReason, messages, calls } = view;
  const { last, earlierRuns } = notedRuns(view);
  const requestId = last?.requestId;
  if (openRunId === undefined || !isCutOff(view)) {
    if (openRunId !== undefined && endReason === undefined)
      await memory.flush({ runId: openRunId, reason: 'interrupted', calls });
    const result = lastResult(await memory.view(), memory.sessionVersion);
    return { type: 'ended', requestId, messages, earlierRuns, result };
  }
  return {
    type: 'cut-off',
    requestId,
    messages,
    earlierRuns,
    runId: openRunId,
    attempts: last?.attempts ?? 0,
    outputName: last?.outputName,
    asker: last?.asker,
    hasAnswer: resumptionOf(view).type === 'answered',
  };
}

/** Returns the note about the last run, if it has one, and the runs before it, newest first. */
function notedRuns(view: SessionView): {
  readonly last: NotedRun | undefined;
  readonly earlierRuns: readonly EndedRun[];
} {
  const { openRunId, endReason } = view;
  const noted = notedRun(view);
  const earlierRuns = noted?.earlierRuns ?? [];
  const isLast = openRunId === undefined || endReason !== undefined || noted?.runId === openRunId;
  if (isLast || !noted) return { last: noted, earlierRuns };
  return { last: undefined, earlierRuns: [{ requestId: noted.requestId }, ...earlierRuns] };
}
