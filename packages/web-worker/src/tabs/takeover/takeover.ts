import type { AgentResult, Msg } from '@isoloop/core';
import { notedRun, type EarlierRun, type Journal } from './journal.ts';
import { resultOf } from './takeover-events.ts';

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
    }
);

/** Reads the last run from the log. If the run has its answer already, writes its end. */
export async function takeoverOf(journal: Journal): Promise<Takeover> {
  const view = await journal.view();
  const noted = notedRun(view);
  const { openRun, ended, messages, calls } = view;
  const earlier = [...(noted?.earlier ?? [])];
  if (openRun === undefined || ended !== undefined) {
    return {
      type: 'ended',
      work: noted?.work,
      messages,
      earlier,
      result: resultOf(view, journal.sessionVersion),
    };
  }
  const isNoted = noted?.run === openRun;
  if (noted && !isNoted) earlier.unshift({ work: noted.work });
  const work = isNoted ? noted.work : undefined;
  const last = messages.at(-1);
  const hasAnswer =
    calls.size === 0 && last?.role === 'assistant' && last.metadata?.['partial'] === undefined;
  if (!hasAnswer)
    return {
      type: 'cut-off',
      work,
      messages,
      earlier,
      run: openRun,
      attempts: isNoted ? noted.attempts : 0,
      output: isNoted ? noted.output : undefined,
    };
  await journal.flush({ runId: openRun, reason: 'stop', calls });
  return {
    type: 'ended',
    work,
    messages,
    earlier,
    result: resultOf(await journal.view(), journal.sessionVersion),
  };
}
