import { env } from 'cloudflare:workers';
import { evictDurableObject } from 'cloudflare:test';
import {
  injectFaults,
  spreadPoints,
  type FaultHost,
  type FaultScenario,
} from '@test/faults/inject-faults.ts';
import { faultScenarios } from '@test/faults/fault-scenarios.ts';
import { expect, test } from 'vitest';
import { extent } from '@test/test-extent.ts';

const runners = (env as { readonly FAULT_RUNNER: DurableObjectNamespace }).FAULT_RUNNER;

interface Runner {
  live(name: string, ...given: Parameters<FaultHost['live']>): ReturnType<FaultHost['live']>;
  read(sessionId: string): ReturnType<FaultHost['read']>;
}

/**
 * Runs all processes of a scenario in one Durable Object. The test evicts the object at the point
 * where a process must die.
 */
function objectHost({ name }: FaultScenario): FaultHost {
  const stub = runners.get(runners.newUniqueId());
  const runner = stub as unknown as Runner;
  return {
    async live(witness, life) {
      const report = await runner.live(name, witness, life);
      await evictDurableObject(stub);
      return report;
    },
    read: (sessionId) => runner.read(sessionId),
  };
}

test.for(faultScenarios().map((scenario) => [scenario.name, scenario] as const))(
  '%s: a Durable Object evicted at a sample of points loses nothing',
  async ([, scenario], { task }) => {
    const most = extent({ quick: 4, full: 40 });
    const report = await injectFaults(scenario, {
      makeHost: () => objectHost(scenario),
      points: spreadPoints(most),
    });
    Object.assign(task.meta, { faults: { store: 'DurableStore', ...report } });
    expect(report.kills).toBe(Math.min(most, report.points));
    expect(report.faults).toEqual([]);
  },
);
