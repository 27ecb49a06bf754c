import type { AgentResult, Msg } from '@isoloop/core';
import { isCutOff, resumptionOf } from '@isoloop/core/adapter';
import { notedRun, type EarlierRun, type Journal } from '../../session/log/journal.ts';
import type { Asker } from '../../wire/protocol.ts';
import { resultOf } from '../../session/log/logged-result.ts';

/**
 * Last run of an earlier leader, read from the log. The leader is the tab whose worker has the
 * agent.
 */
export type Takeover = {
  /** Id of the request for the run. `undefined` if no tab requested the run. */
  readonly work: string | undefined;
  readonly messages: readonly Msg[];
  /** Earlier runs, newest first. */
  readonly earlier: readonly EarlierRun[];
} & (
  | { readonly type: 'ended'; readonly result: AgentResult }
  /**
   * `cut-off`: the run was interrupted. `attempts`: number of times that a tab has continued the
   * run.
   */
  | {
      readonly type: 'cut-off';
      readonly run: string;
      readonly attempts: number;
      readonly output: string | undefined;
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
export async function takeoverOf(journal: Journal): Promise<Takeover> {
  const view = await journal.view();
  const noted = notedRun(view);
  const { openRun, ended, messages, calls } = view;
  const { type } = resumptionOf(view);
  const isLast = openRun === undefined || ended !== undefined || noted?.run === openRun;
  const earlier = [...(noted?.earlier ?? [])];
  if (noted && !isLast) earlier.unshift({ work: noted.work });
  const work = isLast ? noted?.work : undefined;
  if (openRun === undefined || !isCutOff(view)) {
    if (openRun !== undefined && ended === undefined)
      await journal.flush({ runId: openRun, reason: 'interrupted', calls });
    const result = resultOf(await journal.view(), journal.sessionVersion);
    return { type: 'ended', work, messages, earlier, result };
  }
  return {
    type: 'cut-off',
    work,
    messages,
    earlier,
    run: openRun,
    attempts: (isLast && noted?.attempts) || 0,
    output: isLast ? noted?.output : undefined,
    asker: isLast ? noted?.asker : undefined,
    hasAnswer: type === 'answered',
  };
}
