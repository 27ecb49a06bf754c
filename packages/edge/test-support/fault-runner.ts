import { DurableObject } from 'cloudflare:workers';
import { SessionMemory, type Msg } from '@isoloop/core';
import { liveAndDie, type LifeReport } from '../../../test/faults/inject-faults.ts';
import type { Life, Witness } from '../../../test/faults/mortal-process.ts';
import { faultScenarios } from '../../../test/faults/fault-scenarios.ts';
import { DurableStore } from '../src/durable/durable-store.ts';

/** A Durable Object that runs the processes of a fault scenario, one after the other. */
export class FaultRunner extends DurableObject {
  readonly #store: DurableStore = new DurableStore(this.ctx.storage);

  async live(name: string, witness: Witness, life: Life): Promise<LifeReport> {
    const scenario = faultScenarios().find((each) => each.name === name)!;
    return liveAndDie(scenario, this.#store, witness, life);
  }

  async read(sessionId: string): Promise<readonly Msg[]> {
    return new SessionMemory(this.#store, sessionId).read();
  }
}
