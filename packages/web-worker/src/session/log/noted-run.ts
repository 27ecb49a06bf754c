import type { JsonObject } from '@isoloop/core';
import type { SessionView } from '@isoloop/core/log';
import type { Asker } from '../../wire/protocol.ts';
import type { ClaimableMemory } from './claimable-memory.ts';

/** Data in the log about the last run that a tab requested. */
export interface NotedRun {
  /** Id of the request for the run. */
  readonly requestId: string;
  readonly runId: string;
  /** Number of times that another tab has continued the run. */
  readonly attempts: number;
  /** Name of the output that the run returns, if any. */
  readonly outputName?: string | undefined;
  /** Page that asked for the run. */
  readonly asker?: Asker | undefined;
  /** Earlier runs, newest first. */
  readonly earlierRuns?: readonly EndedRun[];
}

/**
 * Run that has ended. If its tab was frozen at the end of the run, the tab requests the run again
 * later. Another tab may then lead the session and needs this data.
 */
export interface EndedRun {
  readonly requestId: string;
  /** Id of the answer's message. Absent if the run failed. */
  readonly answerId?: string | undefined;
}

/**
 * Stores the data about a run in the log, with the next write of the run. With `write`, writes at
 * once.
 */
export function noteRun(memory: ClaimableMemory, run: NotedRun, write = false): Promise<void> {
  // Leaves out fields without a value, which are no JSON.
  const tabRun = JSON.parse(JSON.stringify(run)) as JsonObject;
  return memory.note([{ kind: 'state', state: { tabRun } }], { write });
}

export function notedRun({ state }: SessionView): NotedRun | undefined {
  return state['tabRun'] as NotedRun | undefined;
}
