import { tool, toolResultsOf, type Msg } from '@isoloop/core';
import { pageTools, type RemoteAgent } from '@isoloop/web-worker';
import { expect, onTestFinished, test } from 'vitest';
import { fakeClock } from '@test/clock/fake-clock.ts';
import { SessionPages } from '../session/page/session-pages.ts';
import { nextMacrotask } from '../wire/macrotask.ts';
import { TabPages } from './tab-pages.ts';
import { read, startTabs } from '../../test-support/tabs-under-test.ts';

const outputs = (messages: readonly Msg[]): readonly unknown[] =>
  messages.flatMap(toolResultsOf).map(({ output }) => output);

/** Function that runs as a tool. Its n-th call runs the n-th step, or else the last step. */
function steps(...all: readonly (() => unknown)[]) {
  let calls = 0;
  return { run: () => (all[calls++] ?? all.at(-1)!)(), calls: () => calls };
}

const where = (execute: () => unknown, more = {}) =>
  tool({
    name: 'where',
    description: 'Says where',
    input: { type: 'object' },
    execute: execute as () => string,
    ...more,
  });
const asksWhere = [{ toolCalls: [{ name: 'where', id: 'w1' }] }];

/** Step that never ends. `begun` resolves when the tool has called it. */
function hanging() {
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  return { begun, step: () => (begin(), new Promise<never>(() => {})) };
}

const suspendedAt = {
  reason: 'suspended',
  pending: [{ toolUseId: 'w1', kind: 'suspended', reason: 'The page that runs the tool is gone.' }],
};

test('a page tool runs on the page that asked, in the leading tab and in each other tab', async () => {
  const { open } = startTabs();
  const names = ['first', 'second', 'third'];
  const agents: RemoteAgent[] = [];
  for (const name of names) {
    const replies = [asksWhere, 'one', asksWhere, 'two', asksWhere, 'three', asksWhere, 'four'];
    const page = [pageTools([where(() => name)])];
    const agent = open().connect(replies, { page });
    agents.push(agent);
    await agent.messages();
  }
  for (const index of [1, 0, 2, 1]) await agents[index]!.call('go');
  expect(outputs(await agents[0]!.messages())).toEqual(['second', 'first', 'third', 'second']);
});

test('progress, arguments, errors and aborts of a page tool cross to another tab', async () => {
  const { open } = startTabs();
  const call = (input: object) => [{ toolCalls: [{ name: 'act', input: input as never }] }];
  await open()
    .connect([call({ say: '東京' }), call({ fail: 1 }), 'done', call({ wait: 1 }), 'never'])
    .messages();
  const { begun, step } = hanging();
  let isAborted = false;
  const act = tool({
    name: 'act',
    description: 'Acts',
    input: { type: 'object' },
    execute: async (input, { emit, signal }) => {
      const { say, fail } = input as { readonly say?: string; readonly fail?: number };
      if (fail) throw new Error('It broke.');
      if (say === undefined) {
        signal.addEventListener('abort', () => (isAborted = true));
        await step();
      }
      emit({ saying: `${say}` });
      return `said ${say}`;
    },
  });
  const follower = open().connect([], { page: [pageTools([act])] });
  const stream = follower.stream('go');
  const { events } = read(stream);
  await stream.result;
  const progress = events.flatMap((event) => (event.type === 'acting-chunk' ? event.chunk : []));
  expect(progress).toEqual([{ saying: '東京' }]);
  expect(outputs(await follower.messages())).toEqual([
    'said 東京',
    expect.stringContaining('It broke.'),
  ]);
  const controller = new AbortController();
  const aborted = follower.call('wait', { signal: controller.signal });
  await begun;
  controller.abort();
  expect(await aborted).toMatchObject({ reason: 'aborted' });
  await expect.poll(() => isAborted).toBe(true);
});

test('the model gets only the page tools of the tab that asked', async () => {
  const { open } = startTabs();
  const other = tool({
    name: 'other',
    description: 'x',
    input: { type: 'object' },
    execute: () => 'other',
  });
  const leader = open().connect(['a', 'b'], { page: [pageTools([other])] });
  await leader.messages();
  const follower = open().connect([], { page: [pageTools([where(() => 'here')])] });
  const toolsOf = async (agent: RemoteAgent): Promise<readonly string[]> => {
    const stream = agent.stream('go');
    const { events } = read(stream);
    await stream.result;
    const [asked] = events.filter((event) => event.type === 'pre-reasoning');
    return asked!.tools.map(({ name }) => name).filter((name) => /other|where/.test(name));
  };
  expect(await toolsOf(follower)).toEqual(['where']);
  expect(await toolsOf(leader)).toEqual(['other']);
});

test('when the tab that asked dies during its page tool, the call suspends, and another tab approves it and runs it', async () => {
  const { open } = startTabs();
  const leader = open().connect([asksWhere, 'done'], { page: [pageTools([where(() => 'first')])] });
  await leader.messages();
  const { begun, step } = hanging();
  const second = open();
  const asking = second.connect([], { page: [pageTools([where(step)])] });
  asking.call('go').catch(() => {});
  const watched = read(leader.watch());
  await begun;
  second.worker.terminate();
  await watched.until(({ type }) => type === 'suspended');
  await expect.poll(() => leader.pending()).toMatchObject(suspendedAt.pending);
  expect((await leader.decide({ toolUseId: 'w1', type: 'approve' })).text).toBe('done');
  expect(outputs(await leader.messages())).toEqual(['first']);
});

test('when the page that asked disconnects during its tool, a person gives the result, also after all tabs have reloaded', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const leader = first.connect([asksWhere]);
  await leader.messages();
  const { begun, step } = hanging();
  const asking = second.connect([], { page: [pageTools([where(step)])] });
  asking.call('go').catch(() => {});
  const watched = read(leader.watch());
  await begun;
  second.worker.terminate();
  // The log has the call before the run ends.
  await watched.until(({ type }) => type === 'run-end');
  expect(await leader.pending()).toMatchObject(suspendedAt.pending);
  first.worker.terminate();
  const reloaded = open().connect(['done']);
  await expect.poll(() => reloaded.pending()).toMatchObject(suspendedAt.pending);
  const decided = reloaded.decide({ toolUseId: 'w1', type: 'result', output: 'by hand' });
  expect((await decided).text).toBe('done');
  expect(outputs(await reloaded.messages())).toEqual(['by hand']);
});

test('after a reload, the page that comes back runs the suspended call when a person approves it', async () => {
  const { open } = startTabs();
  const leader = open().connect([asksWhere, 'done'], { page: [pageTools([where(() => 'first')])] });
  await leader.messages();
  const { begun, step } = hanging();
  const before = open();
  before
    .connect([], { page: [pageTools([where(step)])] })
    .call('go')
    .catch(() => {});
  await begun;
  before.worker.terminate();
  const after = open().connect([], { page: [pageTools([where(() => 'back again')])] });
  await expect.poll(() => after.pending()).toMatchObject(suspendedAt.pending);
  expect((await after.decide({ toolUseId: 'w1', type: 'approve' })).text).toBe('done');
  expect(outputs(await leader.messages())).toEqual(['back again']);
});

test('when a leading tab crashes during its own page tool, a person decides whether the tool runs again', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const { begun, step } = hanging();
  const leader = first.connect([asksWhere], { page: [pageTools([where(step)])] });
  await leader.messages();
  const follower = second.connect(['done'], { page: [pageTools([where(() => 'second')])] });
  await follower.messages();
  leader.call('go').catch(() => {});
  await begun;
  first.worker.terminate();
  await expect.poll(() => follower.pending()).toMatchObject([{ toolUseId: 'w1', kind: 'replay' }]);
  expect((await follower.decide({ toolUseId: 'w1', type: 'approve' })).text).toBe('done');
  expect(outputs(await follower.messages())).toEqual(['second']);
});

test('after the leading tab crashes, the next leader asks the page that asked, in a third tab', async () => {
  const { open } = startTabs();
  const [first, second, third] = [open(), open(), open()];
  const replies = [asksWhere, 'done'];
  await first.connect(replies, { page: [pageTools([where(() => 'first')])] }).messages();
  await second.connect(['done'], { page: [pageTools([where(() => 'second')])] }).messages();
  const { begun, step } = hanging();
  const { run, calls } = steps(step, () => 'third');
  const page = [pageTools([where(run, { replay: 'safe' })])];
  const asking = third.connect(['done'], { page });
  const answer = asking.call('go');
  await begun;
  first.worker.terminate();
  expect((await answer).text).toBe('done');
  expect(outputs(await asking.messages())).toEqual(['third']);
  expect(calls()).toBe(2);
});

test('when a leading tab crashes during its own page tool, the next leader suspends the call and does not run it', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const { begun, step } = hanging();
  const safe = { replay: 'safe' };
  const leader = first.connect([asksWhere], { page: [pageTools([where(step, safe)])] });
  await leader.messages();
  const page = [pageTools([where(() => 'second', safe)])];
  const follower = second.connect(['done'], { page });
  const watched = read(follower.watch());
  await follower.messages();
  leader.call('go').catch(() => {});
  await begun;
  first.worker.terminate();
  await watched.until(({ type }) => type === 'suspended');
  expect(await follower.pending()).toMatchObject(suspendedAt.pending);
  expect((await follower.decide({ toolUseId: 'w1', type: 'approve' })).text).toBe('done');
  expect(outputs(await follower.messages())).toEqual(['second']);
});

test('when the leading tab closes while the page of another tab runs a tool, that tab goes on', async () => {
  const { open } = startTabs();
  const leader = open().connect([asksWhere], { page: [pageTools([where(() => 'first')])] });
  await leader.messages();
  const { begun, step } = hanging();
  const { run } = steps(step, () => 'second');
  const page = [pageTools([where(run, { replay: 'safe' })])];
  const follower = open().connect(['done'], { page });
  const stream = follower.stream('go');
  const { events } = read(stream);
  await begun;
  leader.close();
  expect((await stream.result).text).toBe('done');
  expect(events.some(({ type }) => type === 'suspended')).toBe(false);
  expect(outputs(await follower.messages())).toEqual(['second']);
});

/** Sets what the page reports as its visibility. The tabs of a test share one document. */
function setVisibility(state: 'visible' | 'hidden'): void {
  Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
  onTestFinished(() => void Reflect.deleteProperty(document, 'visibilityState'));
}

test('a tool for any visible tab runs in another tab that is visible, and the model gets it there, too', async () => {
  const { open } = startTabs();
  const anyTab = { anyVisibleTab: ['where'] };
  setVisibility('hidden');
  const leader = open().connect([asksWhere, 'one', asksWhere, 'two', asksWhere, 'three'], {
    page: [pageTools([where(() => 'first')], anyTab)],
  });
  await leader.messages();
  setVisibility('visible');
  const second = open().connect([], { page: [pageTools([where(() => 'second')], anyTab)] });
  await second.messages();
  const third = open().connect();
  expect((await leader.call('from a hidden page')).text).toBe('one');
  expect((await third.call('from a page without the tool')).text).toBe('two');
  second.close();
  await expect.poll(() => third.messages()).toHaveLength(8);
  expect((await leader.call('no page is visible')).text).toBe('three');
  expect(outputs(await leader.messages())).toEqual(['second', 'second', 'first']);
});

test('a tool for any visible tab goes on in a visible tab after its page has died', async () => {
  const { open } = startTabs();
  const anyTab = { anyVisibleTab: ['where'] };
  const leader = open().connect([asksWhere, 'done'], {
    page: [pageTools([where(() => 'first')], anyTab)],
  });
  await leader.messages();
  const { begun, step } = hanging();
  const second = open();
  second
    .connect([], { page: [pageTools([where(step)], anyTab)] })
    .call('go')
    .catch(() => {});
  await begun;
  second.worker.terminate();
  await expect.poll(() => leader.pending()).toMatchObject(suspendedAt.pending);
  expect((await leader.decide({ toolUseId: 'w1', type: 'approve' })).text).toBe('done');
  expect(outputs(await leader.messages())).toEqual(['first']);
});

test('the wait for the pages of a tab ends at once if the run has been aborted before', async () => {
  const clock = fakeClock();
  const lock = `tab-${crypto.randomUUID()}`;
  let end = (): void => {};
  const whenEnded = new Promise<void>((resolve) => (end = resolve));
  await new Promise<void>((resolve) => {
    void navigator.locks.request(lock, () => (resolve(), whenEnded));
  });
  onTestFinished(end);
  const pages = new TabPages({ pages: new SessionPages(), post: () => {}, timeoutMs: 5_000 });
  const whenKnown = pages.whenPagesKnown({ pageId: 'p', lock }, AbortSignal.abort());
  const first = await Promise.race([
    whenKnown.then(() => 'known'),
    nextMacrotask().then(() => 'waiting'),
  ]);
  await clock.advance(5_000);
  await whenKnown;
  expect(first).toBe('known');
});

test('pageTools() refuses a name in anyVisibleTab that none of its tools has', () => {
  expect(() => pageTools([where(() => '')], { anyVisibleTab: ['wher'] })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining('"wher"') }),
  );
});
