import { AgentError } from '@isoloop/core';
import type { Memory, SessionMemory } from '@isoloop/core';
import type { SessionView } from '@isoloop/core/adapter';

/** A memory from whose log another tab can go on: `SessionMemory`, or what stands before one. */
export type Journal = Memory & Pick<SessionMemory, 'claim' | 'release' | 'view' | 'note' | 'flush'>;

/** What the log says of the last run that a tab was asked for. */
export interface NotedRun {
  readonly work: string;
  readonly run: string;
  /** How often it was gone on with after its tab was gone. */
  readonly attempts: number;
  /** The name of the output that it ends with. */
  readonly output?: string | undefined;
  /** The runs before it, the last one first. */
  readonly earlier?: readonly EarlierRun[];
}

/**
 * A run that has ended. A tab that was frozen at its end asks for it again when it wakes, maybe from
 * a later leader.
 */
export interface EarlierRun {
  readonly work: string;
  /** The id of its answer; nothing if it failed. */
  readonly answer?: string;
}

/**
 * The memory as a journal that this worker leads from now on; nothing where it is none, or in a
 * store in which nobody can lead.
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

/** Written with what the run writes next; `now`: at once. */
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
