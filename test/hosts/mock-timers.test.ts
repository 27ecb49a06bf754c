import { ReActAgent, tool, type AgentOptions, type Middleware } from '@isoloop/core';
import { modelTimeout } from '@isoloop/core/resilience';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { fakeClock } from '../clock/fake-clock.ts';

/** Moves mock timers. No promise settles before it returns. */
type Tick = (ms: number) => void;

/** Moves the timers until the promise settles, and returns its value. */
async function tickUntil<T>(promise: Promise<T>, tick: Tick): Promise<T> {
  let isOpen = true;
  const end = (): void => void (isOpen = false);
  promise.then(end, end);
  while (isOpen) {
    tick(10);
    await setImmediate();
  }
  return promise;
}

const never = (): Promise<never> => new Promise(() => {});

/** Wrappers that do not return the promise of their `next`, so that the run waits for them. */
const around: Middleware = {
  name: 'around',
  wrapRun: async (input, next) => {
    const result = await next(input);
    return result;
  },
  wrapReply: async (reply, next) => {
    const step = await next(reply);
    return step;
  },
};

const waiting = tool({ name: 'wait', description: '', input: {}, execute: never });
const shortTool = { ...waiting, timeoutMs: 50 };

interface Hang {
  readonly name: string;
  readonly reply?: ScriptedReply;
  readonly part?: Middleware;
}

const hangs: readonly Hang[] = [
  { name: 'a model', reply: { hang: true } },
  { name: 'a tool', reply: { toolCalls: [{ name: 'wait' }] } },
  { name: 'a hook', part: { on: { 'pre-reasoning': never } } },
  { name: 'a wrapper inside', part: { name: 'inside', wrapInput: never } },
];

const agentOf = (reply: ScriptedReply, options: Partial<AgentOptions> = {}): ReActAgent =>
  new ReActAgent({
    name: 'a',
    model: new ScriptedModel([reply, 'Late.']),
    tools: [waiting],
    ...options,
  });

const timers: readonly [string, () => Tick][] = [
  [
    // They do not move `performance.now()`.
    'the mock timers of Node',
    () => {
      mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
      onTestFinished(() => mock.timers.reset());
      return (ms) => mock.timers.tick(ms);
    },
  ],
  [
    'a fake clock',
    () => {
      const clock = fakeClock();
      return (ms) => clock.advanceSync(ms);
    },
  ],
];

describe.each(timers)('under %s', (_name, replaceTimers) => {
  let tick: Tick;
  beforeEach(() => void (tick = replaceTimers()));

  test.each(hangs)(
    'a time limit ends a call that hangs in $name',
    async ({ reply = 'unused', part = {} }) => {
      const agent = agentOf(reply, { use: [around, part], limits: { timeoutMs: 100 } });
      const result = await tickUntil(agent.call('Hi', { throwOnError: false }), tick);
      expect(result.error?.code).toBe('CALL_TIMEOUT');
      expect(agent.busy).toBe(false);
    },
  );

  test('an abort ends a call that hangs', async () => {
    const controller = new AbortController();
    const agent = agentOf({ hang: true }, { use: [around] });
    const answer = agent.call('Hi', { signal: controller.signal });
    controller.abort();
    expect(await tickUntil(answer, tick)).toMatchObject({ reason: 'aborted' });
  });

  test('modelTimeout() ends a reply', async () => {
    const agent = agentOf({ hang: true }, { use: [modelTimeout({ totalMs: 50 })] });
    const result = await tickUntil(agent.call('Hi', { throwOnError: false }), tick);
    expect(result.error?.code).toBe('MODEL_TIMEOUT');
  });

  test('the time limit of a tool ends it', async () => {
    const agent = agentOf({ toolCalls: [{ name: 'wait' }] }, { tools: [shortTool] });
    expect(await tickUntil(agent.call('Hi'), tick)).toMatchObject({ text: 'Late.' });
  });
});
