import { expect, test } from 'vitest';
import { SessionMemory } from '../memory/session-memory.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { textOf, toolResultsOf } from '../message/msg.ts';
import { Agent } from './agent.ts';
import type { EarlyRun, Middleware } from './middleware.ts';

/** Work that ends with `run.stopSignal` and rejects with its reason, as `fetch` does. */
type Work = (run: EarlyRun) => Promise<void>;

/** Steps before a run stores its input. Middleware may work in each of them. */
const places: Readonly<Record<string, (work: Work) => Middleware>> = {
  'a run-start hook': (work) => ({ on: { 'run-start': (_event, run) => work(run) } }),
  wrapRun: (work) => ({
    wrapRun: async (input, next, run) => {
      await work(run);
      return next(input);
    },
  }),
  wrapInput: (work) => ({
    wrapInput: async (input, next, run) => {
      await work(run);
      return next(input);
    },
  }),
  'a pre-call hook': (work) => ({ on: { 'pre-call': (_event, run) => work(run) } }),
  'wrapSettle before next': (work) => ({
    wrapSettle: async (input, next, run) => {
      await work(run);
      return next(input);
    },
  }),
};

const names = Object.keys(places);

function agentWith(place: string, stop: (run: EarlyRun) => void) {
  let isFirst = true;
  const work: Work = async (run) => {
    if (!isFirst) return;
    isFirst = false;
    stop(run);
    throw run.stopSignal.reason;
  };
  const model = new ScriptedModel(['Hi.']);
  const agent = new Agent({ name: 'a', model, use: [{ name: 'early', ...places[place]!(work) }] });
  return { agent, model };
}

test.each(names)(
  'in %s, an interrupt ends the call as interrupted, stores nothing, and the next call works',
  async (place) => {
    const { agent, model } = agentWith(place, (run) => run.ending.interrupt('Stopped.'));
    const stream = agent.stream('Hello.');
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(await stream.result).toMatchObject({ reason: 'interrupted', text: 'Stopped.' });
    expect(types.at(-1)).toBe('run-end');
    expect(types).not.toContain('error');
    expect(await agent.messages()).toEqual([]);
    expect(model.requests).toEqual([]);
    expect((await agent.call('Hello.')).text).toBe('Hi.');
    expect((await agent.messages()).map(textOf)).toEqual(['Hello.', 'Hi.']);
  },
);

test.each(names)(
  'in %s, a pause fails the call, because no later call could continue it',
  async (place) => {
    const { agent } = agentWith(place, (run) => run.ending.suspend());
    await expect(agent.call('Hello.')).rejects.toMatchObject({
      code: 'ABORTED',
      message: expect.stringContaining('Send the input again') as string,
    });
    expect(await agent.messages()).toEqual([]);
    expect((await agent.call('Hello.')).text).toBe('Hi.');
  },
);

test.each([
  ['interrupted', (run: EarlyRun) => run.ending.interrupt('Stopped.')],
  ['suspended', (run: EarlyRun) => run.ending.suspend()],
] as const)(
  'in wrapRun after next, the call ends as %s, without the answer that has not passed the wrapper',
  async (reason, stop) => {
    const use: Middleware[] = [
      {
        wrapRun: async (input, next, run) => {
          await next(input);
          throw run.stopSignal.reason;
        },
      },
      { on: { 'pre-reasoning': (_event, run) => void stop(run) } },
    ];
    const agent = new Agent({ name: 'a', model: new ScriptedModel(['Hi.']), use });
    expect(await agent.call('Hello.')).toMatchObject({ reason, text: '' });
  },
);

test('an error of its own still fails the call after an early interrupt', async () => {
  const use: Middleware[] = [
    {
      wrapInput: async (_input, _next, run) => {
        run.ending.interrupt();
        throw new Error('broken');
      },
    },
  ];
  const agent = new Agent({ name: 'a', model: new ScriptedModel(['Hi.']), use });
  await expect(agent.call('Hello.')).rejects.toThrow('broken');
});

test('after an early interrupt of a decision, the tool call still waits for it', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const execute = (): string => 'paid';
  const pay = tool({ name: 'pay', description: '', input: {}, needsApproval: true, execute });
  let isFirst = true;
  const early: Middleware = {
    wrapInput: async (input, next, run) => {
      if (!input.decisions.length || !isFirst) return next(input);
      isFirst = false;
      run.ending.interrupt();
      throw run.stopSignal.reason;
    },
  };
  const model = new ScriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'Done.']);
  const agent = new ReActAgent({ name: 'a', model, memory, tools: [pay], use: [early] });
  const { pending } = await agent.call('Pay.');
  const approve = { toolUseId: pending[0]!.toolUseId, type: 'approve' } as const;
  expect(await agent.call([approve])).toMatchObject({ reason: 'interrupted' });
  expect(await agent.call([approve])).toMatchObject({ reason: 'stop', text: 'Done.' });
  const results = (await agent.messages()).flatMap(toolResultsOf);
  expect(results).toMatchObject([{ output: 'paid' }]);
});

test.each([
  ['nothing without the question', false, []],
  ['its message after a question that the wrapper stored', true, ['Hello.', 'Stopped.']],
] as const)(
  'whenStopped() in wrapSettle in place of next stores %s',
  async (_what, storesInput, stored) => {
    const early: Middleware = {
      wrapSettle: async ({ messages }, _next, run) => {
        if (storesInput) await run.log.edit({ append: messages });
        run.ending.interrupt('Stopped.');
        return run.ending.whenStopped();
      },
    };
    const agent = new Agent({ name: 'a', model: new ScriptedModel(['Hi.']), use: [early] });
    expect(await agent.call('Hello.')).toMatchObject({ reason: 'interrupted', text: 'Stopped.' });
    expect((await agent.messages()).map(textOf)).toEqual(stored);
  },
);
