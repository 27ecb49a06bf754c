import type { AgentResult, Msg } from '@isoloop/core';
import { isCutOff, resumptionOf } from '@isoloop/core/adapter';
import { notedRun, type EarlierRun, type Journal } from '../../session/log/journal.ts';
import { resultOf } from '../../session/log/logged-result.ts';

/** An earlier leader's last run, as the log has it. */
export type Takeover = {
  /** Request id of the last run; absent if no tab requested it. */
  readonly work: string | undefined;
  readonly messages: readonly Msg[];
  /** The runs before it, newest first. */
  readonly earlier: readonly EarlierRun[];
} & (
  | { readonly type: 'ended'; readonly result: AgentResult }
  /** `attempts`: number of times a tab has continued the run. */
  | {
      readonly type: 'cut-off';
      readonly run: string;
      readonly attempts: number;
      readonly output: string | undefined;
      /** Whether the log has the answer, so that the run needs no further attempt. */
      readonly hasAnswer: boolean;
    }
);

/** Reads the last run from the log. If the run was interrupted before its end, writes its end. */
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
    hasAnswer: type === 'answered',
  };
}
