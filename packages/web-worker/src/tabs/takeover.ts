import type { AgentResult, Msg } from '@isoloop/core';
import { notedRun, type EarlierRun, type Journal } from './journal.ts';
import { resultOf } from './takeover-events.ts';

/** The last run of an earlier leader, as the log has it. */
export type Takeover = {
  /** The work that its last run was; nothing where no tab asked for it. */
  readonly work: string | undefined;
  readonly messages: readonly Msg[];
  /** The runs before it, the last one first. */
  readonly earlier: readonly EarlierRun[];
} & (
  | { readonly type: 'ended'; readonly result: AgentResult }
  /** `attempts`: how often the run was gone on with. */
  | {
      readonly type: 'cut-off';
      readonly run: string;
      readonly attempts: number;
      readonly output: string | undefined;
    }
);

/** Reads the last run from the log. Writes the end of a run that had its answer already. */
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
