import { tool } from '@isoloop/core';
import { connectAgent, pageApprovals, pageHooks, pageTools } from '@isoloop/web-worker';
import { expect, onTestFinished, test } from 'vitest';
import { cdp } from 'vitest/browser';

const session = cdp();
let contextId: number | undefined;

/** The execution context of these tests, a frame of the page: objects are counted by context. */
async function findContext(): Promise<number> {
  const ids: number[] = [];
  const onCreated = ({ context: { id, auxData } }: { readonly context: { readonly id: number; readonly auxData?: object } }): void => {
    // The test runner has a world of its own in each frame.
    if ((auxData as { readonly isDefault?: boolean } | undefined)?.isDefault) ids.push(id);
  };
  session.on('Runtime.executionContextCreated', onCreated);
  await session.send('Runtime.enable');
  session.off('Runtime.executionContextCreated', onCreated);
  // Its events would outlive the tests.
  await session.send('Runtime.disable');
  window.name = `leaks-${crypto.randomUUID()}`;
  for (const id of ids) {
    const { result } = await session.send('Runtime.evaluate', { expression: 'name', contextId: id });
    if (result.value === window.name) return id;
  }
  throw new Error('The frame of the tests was not found.');
}

/** Live objects of a class, after a garbage collection. */
async function alive(className: string): Promise<number> {
  contextId ??= await findContext();
  await session.send('HeapProfiler.collectGarbage');
  const { result: prototype } = await session.send('Runtime.evaluate', {
    expression: `${className}.prototype`,
    objectGroup: 'leaks',
    contextId,
  });
  const { objects } = await session.send('Runtime.queryObjects', { prototypeObjectId: prototype.objectId!, objectGroup: 'leaks' });
  const { result } = await session.send('Runtime.callFunctionOn', {
    objectId: objects.objectId!,
    functionDeclaration: 'function () { return this.length; }',
    returnByValue: true,
  });
  await session.send('Runtime.releaseObjectGroup', { objectGroup: 'leaks' });
  return result.value as number;
}

async function heap(): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Runtime.getHeapUsage')).usedSize;
}

const classes = ['MessagePort', 'AbortController', 'AbortSignal', 'Worker'] as const;

async function count(): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const name of classes) counts[name] = await alive(name);
  return counts;
}

test('1,000 connections that were opened and closed leave no objects and no heap behind', async () => {
  const worker = new Worker(new URL('./page.fixture.ts', import.meta.url), { type: 'module' });
  onTestFinished(() => worker.terminate());
  const title = tool({ name: 'title', description: 'x', input: { type: 'object' }, execute: () => 'x' });
  const use = async (index: number): Promise<void> => {
    const page = [pageTools([title]), pageHooks([{ on: { 'run-end': () => {} } }]), pageApprovals(() => undefined)];
    const agent = connectAgent(worker, { agent: 'main', sessionId: `s${index}`, page });
    if (index % 10 === 0) for await (const _event of agent.stream('hi')) continue;
    else await agent.messages();
    agent.close();
  };
  for (let index = 0; index < 100; index++) await use(index);
  const [before, bytes] = [await count(), await heap()];
  for (let index = 100; index < 1100; index++) await use(index);
  // The last one's ports go once the worker has heard of it.
  await expect
    .poll(
      async () => {
        const after = await count();
        return classes.filter((name) => after[name]! > before[name]! + 20).map((name) => `${name}: ${before[name]}, ${after[name]}`);
      },
      { timeout: 20_000 },
    )
    .toEqual([]);
  expect((await heap()) - bytes).toBeLessThan(1_000_000);
}, 60_000);

test('a connection that was not closed is seen by these counts', async () => {
  const worker = new Worker(new URL('./page.fixture.ts', import.meta.url), { type: 'module' });
  onTestFinished(() => worker.terminate());
  const before = await alive('MessagePort');
  const agents = Array.from({ length: 50 }, (_, index) => connectAgent(worker, { agent: 'main', sessionId: `s${index}` }));
  await Promise.all(agents.map((agent) => agent.messages()));
  expect((await alive('MessagePort')) - before).toBeGreaterThanOrEqual(50);
  for (const agent of agents) agent.close();
});
