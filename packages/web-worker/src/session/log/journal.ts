import { AgentError } from '@isoloop/core';
import type { Memory, SessionMemory } from '@isoloop/core';
import type { SessionView } from '@isoloop/core/adapter';

/** A memory whose log lets another tab continue a run: `SessionMemory`, or a wrapper of one. */
export type Journal = Memory & Pick<SessionMemory, 'claim' | 'release' | 'view' | 'note' | 'flush'>;

/** The log's record of the last run that a tab requested. */
export interface NotedRun {
  readonly work: string;
  readonly run: string;
  /** Number of times another tab has continued the run. */
  readonly attempts: number;
  /** Name of the run's output. */
  readonly output?: string | undefined;
  /** The runs before it, newest first. */
  readonly earlier?: readonly EarlierRun[];
}

/**
 * A run that has ended. If a tab was frozen at that moment, it requests the run again when it
 * wakes, possibly from a later leader.
 */
export interface EarlierRun {
  readonly work: string;
  /** Id of the answer's message; absent if the run failed. */
  readonly answer?: string;
}

/**
 * Claims the memory's log for this worker. Returns nothing if the memory is no journal, or if its
 * store knows no leader.
 */
export async function claimedJournal(memory: Memory, now: boolean): Promise<Journal | undefined> {
  const { claim, release, view, note } = memory as Partial<Journal>;
  if (![claim, release, view, note].every((method) => typeof method === 'function'))
    return undefined;
  try {
    await (memory as Journal).claim({ now });
    return memory as Journal;
  } catch (error) {
    if (AgentError.is(error) && error.code === 'CONFIGURATION') return undefined;
    throw error;
  }
}

/** Records a run in the log with the run's next write. With `now`, writes at once. */
export function noteRun(
  journal: Journal,
  { output, earlier = [], ...rest }: NotedRun,
  now = false,
): Promise<void> {
  const noted = {
    ...rest,
    ...(output !== undefined && { output }),
    ...(earlier.length > 0 && { earlier: earlier.map((run) => ({ ...run })) }),
  };
  return journal.note([{ kind: 'state', state: { tabs: noted } }], { now });
}

export function notedRun({ state }: SessionView): NotedRun | undefined {
  return state['tabs'] as NotedRun | undefined;
}
