import { expect, test } from 'vitest';
import { countWork, moreCalls, type Work } from '../../support/count-work.ts';
import { type ChatModel, type ModelDelta, ReActAgent, tool, type Middleware } from '@isoloop/core';
import { look } from '../../support/plain-tools.ts';

/** How long a run is. */
interface Size {
  readonly deltas: number;
  readonly toolCalls: number;
}

function modelOf({ deltas, toolCalls }: Size): ChatModel {
  let requests = 0;
  return {
    provider: 'counting',
    modelId: 'counting',
    features: { tools: true, media: [] },
    async *stream() {
      requests += 1;
      for (let index = 0; index < deltas; index += 1)
        yield [{ type: 'text', id: 't', delta: 'word ' }] satisfies ModelDelta[];
      if (requests <= toolCalls)
        yield [{ type: 'tool-input', index: 0, name: 'look', delta: '{}' }] satisfies ModelDelta[];
      yield [{ type: 'finish', reason: 'stop' }] satisfies ModelDelta[];
    },
  };
}

/** Returns a function that makes one agent call. */
function callOf(size: Size, use: readonly Middleware[]): () => Promise<void> {
  // A run gives way to timers now and then, by its clock.
  const monotonicNow = (): number => 0;
  const agent = new ReActAgent({
    name: 'a',
    model: modelOf(size),
    tools: [look],
    use,
    monotonicNow,
  });
  return async () => {
    for await (const _batch of agent.stream('go').batches());
  };
}

/**
 * Returns the median of three measurements. V8 sometimes misses a call while it compiles in the
 * background, and another test file of the worker may still run.
 */
function usualWork(all: readonly Work[]): Work {
  const median = (countOf: (work: Work) => number): number =>
    all.map(countOf).toSorted((a, b) => a - b)[1]!;
  const names = new Set(all.flatMap(({ calls }) => [...calls.keys()]));
  return {
    calls: new Map([...names].map((name) => [name, median(({ calls }) => calls.get(name) ?? 0)])),
    promises: median(({ promises }) => promises),
  };
}

/** Returns what the run does for the deltas, or for the iterations, that `long` has more. */
async function growth(
  short: Size,
  long: Size,
  use: readonly Middleware[],
): Promise<{ readonly calls: Readonly<Record<string, number>>; readonly promises: number }> {
  // The first call compiles the functions.
  await callOf(long, use)();
  const sizes = [short, short, short, long, long, long];
  const all = await countWork(sizes.map((size) => callOf(size, use)));
  const less = usualWork(all.slice(0, 3));
  const more = usualWork(all.slice(3));
  return { calls: moreCalls(less, more), promises: more.promises - less.promises };
}

const few: Size = { deltas: 10, toolCalls: 0 };
const many: Size = { deltas: 60, toolCalls: 0 };
const one: Size = { deltas: 3, toolCalls: 1 };
const five: Size = { deltas: 3, toolCalls: 5 };

test('ten middleware that do nothing with deltas add no call and no promise to a delta', async () => {
  const unrelated: readonly Middleware[] = [
    { defaults: { recoveryMessage: 'Stopped.' } },
    { tools: [tool({ name: 'other', description: '', input: {}, execute: () => 'done' })] },
    { on: { 'post-acting': () => {}, 'run-end': () => {} } },
    { mapEvent: (event) => event },
    { wrapRun: (input, next) => next(input) },
    { wrapInput: (input, next) => next(input) },
    { wrapSettle: (input, next) => next(input) },
    { wrapRequest: (draft, next) => next(draft) },
    { wrapReply: (reply, next) => next(reply) },
    {
      wrapRound: (round, next) => next(round),
      wrapTool: (call, next) => next(call),
    },
  ];
  const alone = await growth(few, many, []);
  expect(Object.keys(alone.calls).length).toBeGreaterThan(10);
  expect(alone.promises).toBeGreaterThan(50);
  expect(await growth(few, many, unrelated)).toEqual(alone);
});

test('ten middleware that do nothing with replies and tools add no call and no promise to an iteration', async () => {
  const unrelated: readonly Middleware[] = [
    { defaults: { recoveryMessage: 'Stopped.' } },
    { on: { 'context-fitted': () => {} } },
    { on: { 'run-start': () => {}, 'run-end': () => {} } },
    { on: { 'pre-call': () => {}, 'post-call': () => {} } },
    { on: { 'pre-summary': () => {} } },
    { on: { suspended: () => {} }, onError: 'ignore' },
    { name: 'named' },
    { wrapRun: (input, next) => next(input) },
    { wrapInput: (input, next) => next(input) },
    { wrapSettle: (input, next) => next(input) },
  ];
  const alone = await growth(one, five, []);
  expect(Object.keys(alone.calls).length).toBeGreaterThan(50);
  expect(await growth(one, five, unrelated)).toEqual(alone);
});

test('a wrapper that passes its `next` on adds no promise to a step', async () => {
  const passing = (): Middleware => ({
    wrapRequest: (draft, next) => next(draft),
    wrapReply: (reply, next) => next(reply),
    wrapRound: (round, next) => next(round),
  });
  const alone = await growth(one, five, []);
  const passed = await growth(one, five, [passing(), passing(), passing()]);
  expect(alone.promises).toBeGreaterThan(50);
  expect(passed.promises).toBe(alone.promises);
});
