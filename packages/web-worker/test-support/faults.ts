import { liveAndDie } from '../../../test/faults/inject-faults.ts';
import type { Life, Witness } from '../../../test/faults/mortal-process.ts';
import { faultScenarios } from '../../../test/faults/fault-scenarios.ts';
import { IndexedDbStore } from '../src/store/indexed-db-store.ts';

export interface FaultOrder {
  readonly scenario: string;
  readonly database: string;
  readonly witness: Witness;
  readonly life: Life;
}

/**
 * Runs one process of a fault scenario in this worker and posts its report. The page then
 * terminates the worker.
 */
self.addEventListener('message', async ({ data }: MessageEvent<FaultOrder>): Promise<void> => {
  const scenario = faultScenarios().find(({ name }) => name === data.scenario)!;
  const store = new IndexedDbStore({ database: data.database });
  self.postMessage(await liveAndDie(scenario, store, data.witness, data.life));
});
