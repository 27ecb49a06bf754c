import { SessionMemory } from '@isoloop/core';
import {
  injectFaults,
  spreadPoints,
  type FaultHost,
  type FaultScenario,
  type LifeReport,
} from '@test/faults/inject-faults.ts';
import { faultScenarios } from '@test/faults/fault-scenarios.ts';
import { expect, test } from 'vitest';
import { extent } from '@test/test-extent.ts';
import type { FaultOrder } from '../../test-support/faults.ts';
import { IndexedDbStore } from '../store/indexed-db-store.ts';
import { testDatabase } from '../../test-support/database.ts';

/**
 * Runs each process of a scenario in its own worker. The page terminates the worker at the point
 * where the process must die.
 */
function workerHost({ name: scenario }: FaultScenario): FaultHost {
  const database = testDatabase();
  return {
    async live(witness, life) {
      const worker = new Worker(new URL('../../test-support/faults.ts', import.meta.url), {
        type: 'module',
      });
      try {
        return await new Promise<LifeReport>((resolve, reject) => {
          worker.addEventListener('message', ({ data }: MessageEvent<LifeReport>) => resolve(data));
          worker.addEventListener('error', ({ message }) => reject(new Error(message)));
          worker.postMessage({
            scenario,
            database,
            witness,
            life: { ...life },
          } satisfies FaultOrder);
        });
      } finally {
        worker.terminate();
      }
    },
    read: (sessionId) => new SessionMemory(new IndexedDbStore({ database }), sessionId).read(),
  };
}

test.for(faultScenarios().map((scenario) => [scenario.name, scenario] as const))(
  '%s: IndexedDB loses nothing when workers are terminated at a sample of points',
  async ([, scenario], { task }) => {
    const most = extent({ quick: 4, full: 40 });
    const report = await injectFaults(scenario, {
      makeHost: () => workerHost(scenario),
      points: spreadPoints(most),
    });
    Object.assign(task.meta, { faults: { store: 'IndexedDbStore', ...report } });
    expect(report.kills).toBe(Math.min(most, report.points));
    expect(report.faults).toEqual([]);
  },
);
