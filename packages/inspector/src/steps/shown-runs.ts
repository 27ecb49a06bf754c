import type { Msg } from '@isoloop/core';
import type { InspectedRun } from './inspected-run.ts';
import { runOfTurn, type LogTurn } from './log-turns.ts';

/** A run of the timeline, and the turn of the log in which its messages are. */
export interface ShownRun {
  /** Stays the same when the events of a run follow its log, or its log follows its events. */
  readonly key: string;
  readonly run: InspectedRun;
  /** Absent until the log has the turn. */
  readonly turn: LogTurn | undefined;
}

/** An agent creates the message of a text input shortly after its run has begun. */
const toleranceMs = 100;

/** The runs of turns, because the timeline is drawn again for each event. */
const runs: WeakMap<LogTurn, InspectedRun> = new WeakMap();

function knownRun(turn: LogTurn): InspectedRun {
  const run = runs.get(turn) ?? runOfTurn(turn);
  runs.set(turn, run);
  return run;
}

/**
 * Returns the runs of the log whose events are not known, and the live runs, in order of their
 * start. `maxShownTurns`: maximum number of turns, from the end of the log.
 */
export function shownRuns(
  live: readonly InspectedRun[],
  turns: readonly LogTurn[],
  maxShownTurns: number = Infinity,
): readonly ShownRun[] {
  const ofLog = turns.slice(-maxShownTurns).map((turn) => shownTurn(turn));
  // A run has its input, and thereby its place, with its first step.
  const begunRuns = live.filter(({ steps }) => steps.length > 0);
  const liveRuns = begunRuns.map((run) => shownLive(run, ofLog));
  const keys = new Set(liveRuns.map(({ key }) => key));
  return [...ofLog.filter(({ key }) => !keys.has(key)), ...liveRuns].toSorted(
    (one, other) => one.run.startedAt - other.run.startedAt,
  );
}

function shownTurn(turn: LogTurn): ShownRun & { readonly turn: LogTurn } {
  return { key: turn.messages[0]!.id, run: knownRun(turn), turn };
}

function shownLive(run: InspectedRun, ofLog: readonly ReturnType<typeof shownTurn>[]): ShownRun {
  const [input] = inputOf(run);
  // An agent that runs as a tool has a log of its own.
  const logged =
    run.agentPath.length > 1 ? undefined : ofLog.findLast((each) => isOf(run, each.run, each.turn));
  // A run that continues another one has only the rest of its turn.
  const isWhole = logged && !run.continues;
  return { key: isWhole ? logged.key : (input?.id ?? run.runId), run, turn: logged?.turn };
}

/** Returns whether a live run is of a turn: it has its input, or began after it. */
function isOf(run: InspectedRun, logged: InspectedRun, { messages }: LogTurn): boolean {
  const input = inputOf(run)[0];
  if (input) return messages.some(({ id }) => id === input.id);
  return logged.startedAt <= run.startedAt + toleranceMs;
}

/** Returns the messages that a run got, without those that an endpoint does not show. */
function inputOf({ steps }: InspectedRun): readonly Msg[] {
  const input = steps.find(({ kind }) => kind === 'input');
  return input?.kind === 'input' && typeof input.messages !== 'number' ? input.messages : [];
}
