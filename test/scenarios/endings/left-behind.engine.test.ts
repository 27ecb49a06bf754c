import { beforeEach, expect, test } from 'vitest';
import { Hang, lockedModel } from '../../support/hang.ts';
import { agentTool } from '@isoloop/core/several';
import {
  ReActAgent,
  type AgentEvent,
  MemoryStore,
  SessionMemory,
  type Middleware,
} from '@isoloop/core';
import { Semaphore } from '@isoloop/core/limits';
import { ScriptedModel } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';
import { fakeClock, type FakeClock } from '../../clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));

test('if a hook for `error` hangs, the call still fails with the original error', async () => {
  const controller = new AbortController();
  const hang = new Hang();
  const { agent } = scriptedAgent([{ error: new Error('down') }, 'next'], {
    use: [{ on: { error: hang.wait } }],
  });
  const call = agent.call('go', { signal: controller.signal });
  const failing = call.catch((error: Error) => error.message);
  await hang.reached;
  controller.abort();
  expect(await clock.advanceUntil(failing)).toBe('down');
  hang.on = false;
  expect((await agent.call('again')).text).toBe('next');
});

test('a hook from addHook() that hangs does not block an aborted call, and later hooks get every event', async () => {
  const hang = new Hang();
  const heard: string[] = [];
  const controller = new AbortController();
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['first']) });
  agent.addHook({ on: { '*': () => hang.wait() } });
  agent.addHook({ on: { '*': ({ type }) => void heard.push(type) } });
  const call = agent.call('go', { signal: controller.signal });
  await hang.reached;
  controller.abort();
  expect((await clock.advanceUntil(call)).reason).toBe('aborted');
  expect(heard).toEqual(['run-start', 'run-end']);
});

test('using `run` after the run has ended changes nothing', async () => {
  const hang = new Hang();
  const controller = new AbortController();
  const late: string[] = [];
  let done = (): void => {};
  const finished = new Promise<void>((resolve) => (done = resolve));
  const meddling: Middleware = {
    wrapRun: async (input, next, run) => {
      run.state['kept'] = 'before';
      if (!hang.on) return next(input);
      await hang.wait();
      run.state['kept'] = 'late';
      run.state['more'] = 'late';
      const usage = { inputTokens: 1e6, outputTokens: 1e6 };
      for (const change of [() => run.model.addUsage(usage), () => run.prompt.set('late')])
        expect(change).toThrow('The run has ended.');
      run.ending.fail(new Error('late'));
      late.push(
        String(run.ending.interrupt()),
        String(run.ending.interrupt({ mode: 'inject', messages: 'late' })),
      );
      await next(input).catch((error: Error) => late.push(error.message));
      await run.log.store().catch((error: Error) => late.push(error.message));
      done();
      return undefined as never;
    },
  };
  const model = new ScriptedModel(['next']);
  const memory = new SessionMemory(new MemoryStore(), 's');
  const agent = new ReActAgent({ name: 'a', model, memory, use: [meddling] });
  const call = agent.call('go', { signal: controller.signal });
  await hang.reached;
  controller.abort();
  hang.on = false;
  expect((await clock.advanceUntil(call)).reason).toBe('aborted');
  hang.settleLate('resolves');
  await finished;
  expect(late).toEqual(['false', 'false', 'The run has ended.', 'The run has ended.']);
  expect(agent.status.state).toEqual({ kept: 'before' });
  expect(await agent.messages()).toEqual([]);
  expect(await agent.call('again')).toMatchObject({ text: 'next', usage: { inputTokens: 10 } });
  expect((await memory.view()).state['values']).toEqual({ kept: 'before' });
});

test('if a wrapped model hangs, wrappers around the model still release their resources after an abort', async () => {
  const hang = new Hang();
  const places = new Semaphore(1);
  const controller = new AbortController();
  const holding: Middleware = {
    wrapModel: (next) => ({
      ...next,
      features: next.features,
      async *stream(request, context) {
        const release = await places.acquire(context.signal);
        try {
          yield* next.stream(request, context);
        } finally {
          release();
        }
      },
    }),
    wrapTool: async (call, next, run) => {
      const release = await places.acquire(run.signal);
      try {
        return await next(call);
      } finally {
        release();
      }
    },
  };
  const stuck: Middleware = {
    wrapModel: (next) => ({ ...next, features: next.features, stream: lockedModel(hang.wait) }),
  };
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([]), use: [holding, stuck] });
  const call = agent.call('go', { signal: controller.signal });
  await hang.reached;
  expect(places.free).toBe(0);
  controller.abort();
  expect(await clock.advanceUntil(call)).toMatchObject({ reason: 'aborted', text: 'Half ' });
  expect(places.free).toBe(1);
});

test('a reader that stopped reading blocks neither an aborted call nor the next call', async () => {
  const controller = new AbortController();
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['one two three', 'next']) });
  const stream = agent.stream('go', { signal: controller.signal });
  const reader = stream[Symbol.asyncIterator]();
  for (;;) {
    const { value } = await reader.next();
    if (value?.type === 'reasoning-chunk') break;
  }
  controller.abort();
  await clock.waitFor(() => expect(agent.busy).toBe(false));
  expect((await agent.call('again')).text).toBe('next');
  const rest: AgentEvent[] = [];
  for (let step = await reader.next(); !step.done; step = await reader.next())
    rest.push(step.value);
  expect(rest.at(-1)).toMatchObject({ type: 'run-end', result: { reason: 'aborted' } });
});

test('an injected call ends with its own signal, even if the running call hangs', async () => {
  const hang = new Hang();
  const own = new AbortController();
  const other = new AbortController();
  const { agent } = scriptedAgent(['first'], {
    whenBusy: 'inject',
    use: [{ on: { 'pre-reasoning': hang.wait } }],
  });
  const first = agent.call('one', { signal: other.signal });
  await hang.reached;
  const injected = agent.call('two', { signal: own.signal });
  own.abort();
  expect((await clock.advanceUntil(injected)).reason).toBe('aborted');
  other.abort();
  expect((await clock.advanceUntil(first)).reason).toBe('aborted');
});

test('an abort of the parent ends a hanging child agent', async () => {
  const hang = new Hang();
  const controller = new AbortController();
  const child = new ReActAgent({
    name: 'child',
    model: new ScriptedModel(['child']),
    use: [{ on: { 'pre-reasoning': hang.wait } }],
  });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'call_child', input: { message: 'go' } }] },
    'next',
  ]);
  const tools = [agentTool(child, { description: 'A child' })];
  const agent = new ReActAgent({ name: 'a', model, tools });
  const call = agent.call('go', { signal: controller.signal });
  await hang.reached;
  controller.abort();
  hang.on = false;
  expect((await clock.advanceUntil(call)).reason).toBe('aborted');
  expect(child.busy).toBe(false);
  expect((await agent.call('again')).text).toBe('next');
});
