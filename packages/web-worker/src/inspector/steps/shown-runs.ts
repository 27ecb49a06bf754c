import type { Msg } from '@isoloop/core';
import type { InspectedRun } from './inspected-run.ts';
import { runOfTurn, type LogTurn } from './log-turns.ts';

/** A run of the timeline, and the turn of the log in which its messages are. */
export interface ShownRun {
  readonly run: InspectedRun;
  /** Absent until the log has the turn. */
  readonly turn: LogTurn | undefined;
}

/** A log may have the input some time before its run begins. */
const toleranceMs = 1_000;

/**
 * Returns the runs of the log whose events are not known, and the live runs, in order of their
 * start.
 */
export function shownRuns(
  live: readonly InspectedRun[],
  turns: readonly LogTurn[],
): readonly ShownRun[] {
  const ofLog = turns.map((turn) => ({ run: runOfTurn(turn), turn }));
  const known = live.map((run) => ({
    run,
    turn: ofLog.findLast(({ run: logged, turn }) => isOf(run, logged, turn))?.turn,
  }));
  const isKnown = ({ run, turn }: (typeof ofLog)[number]): boolean =>
    known.some((each) => each.turn === turn && isFromStart(each.run, run));
  return [...ofLog.filter((each) => !isKnown(each)), ...known].toSorted(
    (one, other) => one.run.startedAt - other.run.startedAt,
  );
}

/** Returns whether a live run is of a turn: it has its input, or began after it. */
function isOf(run: InspectedRun, logged: InspectedRun, { messages }: LogTurn): boolean {
  const input = inputOf(run)[0];
  if (input) return messages.some(({ id }) => id === input.id);
  return logged.startedAt <= run.startedAt + toleranceMs;
}

/** A run that was resumed after a reload has only the rest of its turn. */
function isFromStart(run: InspectedRun, logged: InspectedRun): boolean {
  return inputOf(run).length > 0 || run.startedAt <= logged.startedAt + toleranceMs;
}

/**
 * Returns a key of a run that stays when its events follow its log. Both have the same input.
 */
export function keyOfRun({ run }: ShownRun): string {
  return inputOf(run)[0]?.id ?? run.runId;
}

/** Returns the messages that a run got, without those that an endpoint does not show. */
export function inputOf({ steps }: InspectedRun): readonly Msg[] {
  const input = steps.find(({ kind }) => kind === 'input');
  return input?.kind === 'input' && typeof input.messages !== 'number' ? input.messages : [];
}
