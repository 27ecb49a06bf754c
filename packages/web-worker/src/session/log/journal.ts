import { AgentError } from '@isoloop/core';
import type { JsonObject, Memory, SessionMemory } from '@isoloop/core';
import type { SessionView } from '@isoloop/core/adapter';
import type { Asker } from '../../wire/protocol.ts';

/**
 * Memory with a log from which another tab can continue a run: `SessionMemory`, or a wrapper of it.
 */
export type Journal = Memory & Pick<SessionMemory, 'claim' | 'release' | 'view' | 'note' | 'flush'>;

/** Data in the log about the last run that a tab requested. */
export interface NotedRun {
  /** Id of the request for the run. */
  readonly requestId: string;
  readonly run: string;
  /** Number of times that another tab has continued the run. */
  readonly attempts: number;
  /** Name of the output that the run returns, if any. */
  readonly output?: string | undefined;
  /** Page that asked for the run. */
  readonly asker?: Asker | undefined;
  /** Earlier runs, newest first. */
  readonly earlier?: readonly EarlierRun[];
}

/**
 * Run that has ended. If its tab was frozen at the end of the run, the tab requests the run again
 * later. Another tab may then lead the session and needs this data.
 */
export interface EarlierRun {
  readonly requestId: string;
  /** Id of the answer's message. Absent if the run failed. */
  readonly answer?: string | undefined;
}

/**
 * Makes this worker the only writer of the memory's log. Returns `undefined` if the memory is not a
 * `Journal`, or if its store does not support this.
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

/**
 * Returns the memory as a `Journal` that this worker claims before each run, because no lock decides
 * which tab writes. Returns `undefined` if other tabs do not have this memory. Throws
 * `CONFIGURATION` if the memory's store cannot refuse a second writer.
 */
export function claimableJournal(memory: Memory): Journal | undefined {
  const { claim, features } = memory as Partial<SessionMemory>;
  if (!claim) return undefined;
  if (features?.compareAndSet !== false) return memory as Journal;
  const message =
    'The browser refuses Web Locks, and the store has no compareAndSet. Tabs could overwrite each other.';
  throw new AgentError('CONFIGURATION', message);
}

/**
 * Stores the data about a run in the log, with the next write of the run. With `now`, writes at
 * once.
 */
export function noteRun(journal: Journal, run: NotedRun, now = false): Promise<void> {
  // Leaves out fields without a value, which are no JSON.
  const tabs = JSON.parse(JSON.stringify(run)) as JsonObject;
  return journal.note([{ kind: 'state', state: { tabs } }], { now });
}

export function notedRun({ state }: SessionView): NotedRun | undefined {
  return state['tabs'] as NotedRun | undefined;
}
