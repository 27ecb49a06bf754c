import { tool } from '@isoloop/core';
import {
  connectAgent,
  pageApprovals,
  pageHooks,
  pageModel,
  pageTools,
  type RemoteAgent,
} from '@isoloop/web-worker';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, onTestFinished, test } from 'vitest';
import { registry } from '@test/left-behind/things.ts';
import { extent } from '@test/test-extent.ts';
import { inspectFrame, inspectWorker, type Inspected } from '../../test-support/inspected.ts';
import type { PageFixtureOptions } from '../../test-support/page.ts';
import { tabVersion, type TabMessage } from '../wire/tab-protocol.ts';

const pageClasses = ['MessagePort', 'AbortController', 'AbortSignal', 'Worker', 'ReadableStream'];
const sessionClasses = ['Session', 'DirectHost', 'SessionRuns', 'BroadcastChannel'];
const tabClasses = ['SharedTabHost', 'Leader', 'RunTakeover', 'TabChannel', 'StallWatch'];
const workerClasses = [
  'MessagePort',
  'AbortController',
  'AbortSignal',
  'ReActAgent',
  'PageLink',
  'EventSender',
  ...sessionClasses,
  ...tabClasses,
];

const none = Object.fromEntries(tabClasses.map((name) => [name, 0]));

/** Number of connections that a test uses after its warm-up. */
const count = extent({ quick: 300, full: 1000 });

test('the check of test/left-behind watches this page, too', () => {
  expect(registry).toMatchObject({ test: { what: 'test' }, file: { what: 'file' } });
});

/** Counts the session locks that tabs hold or wait for. */
async function sessionLocks(): Promise<number> {
  const { held = [], pending = [] } = await navigator.locks.query();
  return [...held, ...pending].filter(({ name }) => name?.startsWith('isoloop:session:')).length;
}

/**
 * Tolerated growth: number of objects of each class, and bytes of heap. Some objects are in use
 * when the test counts.
 */
const slack = { objects: 20, bytes: 1_000_000 };

/**
 * Repeats the count until no class has shrunk twice in a row, because garbage of earlier tests is
 * collected late.
 */
async function settledCount(
  target: Inspected,
  classes: readonly string[],
): Promise<Readonly<Record<string, number>>> {
  let last = await target.count(classes);
  for (let steady = 0; steady < 2; steady += 1) {
    const next = await target.count(classes);
    if (classes.some((name) => next[name]! < last[name]!)) steady = 0;
    last = next;
  }
  return last;
}

/**
 * Measures a page or worker. `grown()` returns the classes that now have more objects, and `heap()`
 * the growth of the heap in bytes.
 */
async function measure(target: Inspected, classes: readonly string[]) {
  const before = await settledCount(target, classes);
  const bytes = await target.heap();
  return {
    async grown(): Promise<readonly string[]> {
      const after = await target.count(classes);
      return classes
        .filter((name) => after[name]! > before[name]! + slack.objects)
        .map((name) => `${name}: ${before[name]}, ${after[name]}`);
    },
    heap: async (): Promise<number> => (await target.heap()) - bytes,
  };
}

const startWorker = (): Worker =>
  new Worker(new URL('../../test-support/leaks.ts', import.meta.url), { type: 'module' });

const title = tool({
  name: 'title',
  description: 'x',
  input: { type: 'object' },
  execute: () => 'x',
});
const never = tool({
  name: 'never',
  description: 'x',
  input: { type: 'object' },
  execute: () => new Promise<string>(() => {}),
});

/** Connects with page parts of every kind. */
function connect(worker: Worker, index: number, replies: PageFixtureOptions['replies'] = ['ok']) {
  const page = [
    pageTools([title, never]),
    pageHooks([{ on: { 'run-end': () => {}, 'pre-acting': () => {} } }]),
    pageApprovals(() => ({ type: 'approve' })),
    pageModel(new ScriptedModel([])),
  ];
  return connectAgent(worker, {
    timeoutMs: 120_000,
    agent: 'main',
    sessionId: `s${index}`,
    options: { replies, needsApproval: ['title'] },
    page,
  });
}

/** Joins a session as another tab does, and waits until its leader answers. */
async function joinAsTab(index: number): Promise<void> {
  const channel = new BroadcastChannel(`isoloop:session:${JSON.stringify(['main', `s${index}`])}`);
  const answered = new Promise<void>((resolve) =>
    channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
      if (data.type === 'lead') resolve();
    }),
  );
  channel.postMessage({
    version: tabVersion,
    senderId: 'another',
    type: 'join',
  } satisfies TabMessage);
  await answered;
  channel.close();
}

/** Ways to use and close a connection. A test takes one after the other. */
const uses: readonly ((worker: Worker, index: number) => Promise<void>)[] = [
  // Closes the connection before the worker knows about it.
  async (worker, index) => {
    const agent = connect(worker, index);
    const messages = agent.messages().catch(() => {});
    agent.close();
    await messages;
  },
  async (worker, index) => {
    const agent = connect(worker, index);
    await agent.messages();
    agent.close();
  },
  async (worker, index) => {
    const agent = connect(worker, index, [{ toolCalls: [{ name: 'title' }] }, 'done']);
    for await (const _event of agent.stream('hi')) continue;
    agent.close();
  },
  async (worker, index) => {
    const agent = connect(worker, index, ['ok', 'ok']);
    const { signal } = new AbortController();
    await agent.call('hi', { signal });
    const transport = agent.chatTransport();
    const messages = [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'hi' }] }];
    const chunks = await transport.sendMessages({
      trigger: 'submit-message',
      messages,
      abortSignal: signal,
    });
    for await (const _chunk of chunks) continue;
    await transport.reconnectToStream();
    agent.close();
  },
  // Closes in the middle of an answer that the page reads.
  async (worker, index) => {
    const agent = connect(worker, index, [{ text: 'one two', hang: true }]);
    for await (const event of agent.stream('hi')) if (event.type === 'reasoning-chunk') break;
    agent.close();
  },
  // Closes in the middle of an answer that the page no longer reads.
  async (worker, index) => {
    const agent = connect(worker, index, [{ text: 'one two', hang: true }]);
    await agent.stream('hi').batches()[Symbol.asyncIterator]().next();
    agent.close();
  },
  // Closes while a tool runs on the page.
  async (worker, index) => {
    const agent = connect(worker, index, [{ toolCalls: [{ name: 'never' }] }]);
    const call = agent.call('hi').catch(() => {});
    for (let running = false; !running; running = (await agent.messages()).length > 1);
    agent.close();
    await call;
  },
  // Another tab asks who leads the session.
  async (worker, index) => {
    const agent = connect(worker, index);
    await agent.messages();
    await joinAsTab(index);
    agent.close();
  },
];

test(`${count} connections that were used and closed leave no objects and no memory, on the page and in the worker`, async () => {
  const frame = await inspectFrame();
  const { worker, inspected } = await inspectWorker(startWorker);
  onTestFinished(() => worker.terminate());
  const use = (index: number): Promise<void> => uses[index % uses.length]!(worker, index);
  for (let index = 0; index < 120; index++) await use(index);
  const [onPage, inWorker] = [
    await measure(frame, pageClasses),
    await measure(inspected, workerClasses),
  ];
  for (let index = 120; index < 120 + count; index++) await use(index);
  // The ports of the last connection are released once the worker learns that it has closed.
  await expect.poll(() => onPage.grown()).toEqual([]);
  await expect.poll(() => inWorker.grown()).toEqual([]);
  await expect.poll(sessionLocks).toBe(0);
  expect(await onPage.heap()).toBeLessThan(slack.bytes);
  expect(await inWorker.heap()).toBeLessThan(slack.bytes);
});

test(`${count} connections whose workers were terminated leave nothing on the page`, async () => {
  const frame = await inspectFrame();
  const lose = async (size: number): Promise<void> => {
    const worker = startWorker();
    const agents = Array.from({ length: size }, (_, index) =>
      connect(worker, index, [{ text: 'one two', hang: true }]),
    );
    await Promise.all(agents.map((agent) => agent.messages()));
    const calls = agents.map((agent) => agent.call('hi').catch((error: unknown) => error));
    worker.terminate();
    expect(
      new Set((await Promise.all(calls)).map((error) => (error as { code: string }).code)),
    ).toEqual(new Set(['WORKER_TERMINATED']));
  };
  await lose(100);
  const onPage = await measure(frame, pageClasses);
  for (let round = 0; round < count / 100; round++) await lose(100);
  await expect.poll(() => onPage.grown()).toEqual([]);
  expect(await onPage.heap()).toBeLessThan(slack.bytes);
});

test('the counts show connections that were not closed, on the page and in the worker', async () => {
  const frame = await inspectFrame();
  const { worker, inspected } = await inspectWorker(startWorker);
  onTestFinished(() => worker.terminate());
  await connect(worker, -1).messages();
  const inWorker = await measure(inspected, workerClasses);
  const agents: RemoteAgent[] = [];
  const grownByFifty = async (): Promise<readonly string[]> => {
    const onPage = await measure(frame, pageClasses);
    const more = Array.from({ length: 50 }, (_, index) => connect(worker, agents.length + index));
    agents.push(...more);
    await Promise.all(more.map((agent) => agent.messages()));
    await Promise.all(more.map((_agent, index) => joinAsTab(agents.length - 1 - index)));
    return onPage.grown();
  };
  // Polls, because ports of earlier tests may be collected at the same time.
  await expect.poll(grownByFifty).toContainEqual(expect.stringContaining('MessagePort'));
  expect(await sessionLocks()).toBeGreaterThanOrEqual(50);
  const grown = await inWorker.grown();
  for (const name of ['MessagePort', 'ReActAgent', 'PageLink', ...sessionClasses, ...tabClasses])
    expect(grown).toContainEqual(expect.stringContaining(`${name}: `));
  for (const agent of agents) agent.close();
});

test('a page creates no objects of the classes for several tabs until another tab joins its session', async () => {
  const { worker, inspected } = await inspectWorker(startWorker);
  onTestFinished(() => worker.terminate());
  const agent = connect(worker, 0, ['one', 'two']);
  await agent.call('hi');
  expect(await inspected.count(sessionClasses)).toMatchObject({ Session: 1, SessionRuns: 1 });
  expect(await inspected.count(tabClasses)).toEqual(none);
  await joinAsTab(0);
  expect((await agent.call('hi')).text).toBe('two');
  expect(await inspected.count(tabClasses)).toMatchObject({ SharedTabHost: 1, Leader: 1 });
  agent.close();
});
