import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReActAgent, SessionMemory } from '@isoloop/core';
import { rolesOf } from '../roles-of.ts';
import { injectFaults, localHost, spreadPoints } from '../faults/inject-faults.ts';
import { keyValueStoreConformance, ScriptedModel } from '@isoloop/core/testing';
import { faultScenarios } from '../faults/fault-scenarios.ts';
import { unstorageStore } from '@isoloop/core/memory';
import type { Driver } from 'unstorage';
import fsDriver from 'unstorage/drivers/fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { extent } from '../test-extent.ts';
import { withSlashes } from '../../scripts/with-slashes.ts';
import { sessionConformance } from '../stores/session-conformance.ts';

async function folder(): Promise<string> {
  const base = await mkdtemp(join(tmpdir(), 'isoloop-'));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  return base;
}

const framework = { describe, expect, test };
const inFiles = async (): Promise<Driver> => fsDriver({ base: await folder() });

keyValueStoreConformance(framework, 'unstorageStore() over files', async () =>
  unstorageStore(await inFiles()),
);
sessionConformance(framework, 'unstorageStore() over files', async () =>
  unstorageStore(await inFiles()),
);
keyValueStoreConformance(framework, 'unstorageStore() over files of one process', async () =>
  unstorageStore(await inFiles(), { singleProcess: true }),
);
sessionConformance(framework, 'unstorageStore() over files of one process', async () =>
  unstorageStore(await inFiles(), { singleProcess: true }),
);
test.for(faultScenarios().map((scenario) => [scenario.name, scenario] as const))(
  '%s: the run recovers from files when its host is killed at a sample of points',
  async ([, scenario]) => {
    const base = await folder();
    let host = 0;
    const most = extent({ quick: 2, full: 40 });
    const report = await injectFaults(scenario, {
      makeHost: () =>
        localHost(scenario, unstorageStore(fsDriver({ base: join(base, `${host++}`) }))),
      points: spreadPoints(most),
    });
    expect(report.kills).toBe(Math.min(most, report.points));
    expect(report.faults.slice(0, 2)).toEqual([]);
  },
);

test('a durable agent in Node continues its conversation from files', async () => {
  const base = await folder();
  const open = (reply: string): ReActAgent =>
    new ReActAgent({
      name: 'a',
      model: new ScriptedModel([reply]),
      memory: new SessionMemory(unstorageStore(fsDriver({ base })), 'ann'),
    });
  await open('Hello Ann.').call('I am Ann.');
  const agent = open('Ann.');
  await agent.call('Who am I?');
  expect(rolesOf(await agent.messages())).toBe('user assistant user assistant');
});

test('one of many writers at once wins in a single process', async () => {
  const store = unstorageStore(await inFiles(), { singleProcess: true });
  const wins = await Promise.all(
    Array.from({ length: 20 }, (_, index) => store.compareAndSet!('k', undefined, `${index}`)),
  );
  expect(wins.filter(Boolean)).toHaveLength(1);
});

test.for([
  's:../../etc/passwd:head',
  's:..:head',
  's:Ann:head',
  's:a_b%20c:r:00000001-x=1~2',
  `s:${'x'.repeat(400)}:head`,
  's:node_modules:head',
])('the key %s is a safe file name and is found again', async (key) => {
  const base = await folder();
  const store = unstorageStore(fsDriver({ base }));
  await store.set(key, '1');
  expect(await store.keys('s:')).toEqual([key]);
  const files = await readdir(base, { recursive: true });
  for (const file of files) expect(withSlashes(file)).toMatch(/^[a-z0-9_./-]+$/);
});
