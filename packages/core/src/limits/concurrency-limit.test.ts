import { expect, test } from 'vitest';
import { seeds } from '@test/test-extent.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { textOf } from '../message/msg.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { randomOf } from '@test/random-of.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import type { ReActAgent } from '../react-agent/react-agent.ts';
import { gate, scriptedAgent } from '@test/support/scripted-agent.ts';
import { agentTool } from '../several/agent-tool.ts';
import { concurrencyLimit } from './concurrency-limit.ts';
import { Semaphore } from './semaphore.ts';
import { fakeClock } from '@test/clock/fake-clock.ts';

function agentOf(
  semaphore: Semaphore,
  replies: readonly ScriptedReply[],
  options: Partial<AgentOptions> = {},
) {
  return scriptedAgent(replies, {
    ...options,
    use: [concurrencyLimit(semaphore), ...(options.use ?? [])],
  });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Promise.resolve();
}

/**
 * Creates an agent that occupies the only slot of a semaphore until `open` is called, and another
 * agent that shares the semaphore.
 */
async function busy(
  options: Partial<AgentOptions> = {},
  replies: readonly ScriptedReply[] = ['Mine', 'Again'],
  maxWaiting?: number,
) {
  const semaphore = new Semaphore(1, maxWaiting === undefined ? {} : { maxWaiting });
  const { wait, open } = gate();
  const first = agentOf(semaphore, [[{ wait }, { text: 'First' }]]);
  const running = first.agent.call('Hi');
  await until(() => first.model.requests.length === 1);
  return { semaphore, open, running, ...agentOf(semaphore, replies, options) };
}

test('agents that share a semaphore run one after the other', async () => {
  const { semaphore, open, running, model, agent } = await busy();
  const waiting = agent.call('Me too');
  await until(() => semaphore.waiting === 1);
  expect(model.requests).toHaveLength(0);
  open();
  expect([(await running).text, (await waiting).text]).toEqual(['First', 'Mine']);
  expect(semaphore.free).toBe(1);
});

test('the wait for a slot does not count toward the timeout of the call', async () => {
  const clock = fakeClock();
  const { semaphore, open, agent } = await busy({ limits: { timeoutMs: 1000 } });
  const waiting = agent.call('Me too');
  await until(() => semaphore.waiting === 1);
  expect(clock.pendingTimers()).toBe(0);
  clock.advanceSync(5000);
  open();
  expect(await waiting).toMatchObject({ reason: 'stop', text: 'Mine' });
});

test('an abort ends the wait for a slot, nothing is stored, and the next call works', async () => {
  const { semaphore, open, running, model, agent } = await busy();
  const controller = new AbortController();
  const waiting = agent.call('Me too', { signal: controller.signal });
  await until(() => semaphore.waiting === 1);
  controller.abort();
  expect(await waiting).toMatchObject({ reason: 'aborted', text: '' });
  expect([semaphore.waiting, await agent.messages(), model.requests.length]).toEqual([0, [], 0]);
  open();
  await running;
  expect(await agent.call('Now')).toMatchObject({ text: 'Mine' });
  expect(semaphore.free).toBe(1);
});

test('canceling a stream ends its wait for a slot', async () => {
  const { semaphore, open, running, agent } = await busy();
  const stream = agent.stream('Me too');
  const events: AgentEvent[] = [];
  const reading = (async () => {
    for await (const event of stream) events.push(event);
  })();
  await until(() => semaphore.waiting === 1);
  await stream.cancel();
  await reading;
  expect(semaphore.waiting).toBe(0);
  expect(events.map(({ type }) => type)).toEqual(['run-start', 'run-end']);
  expect(orderFaults(events)).toEqual([]);
  open();
  await running;
});

test('an interrupt ends the wait for a slot, keeps the input, and makes no model request', async () => {
  const { semaphore, open, running, model, agent } = await busy();
  const waiting = agent.call('Me too');
  await until(() => semaphore.waiting === 1);
  expect(agent.interrupt('Not now.')).toBe(true);
  expect(await waiting).toMatchObject({ reason: 'interrupted', text: 'Not now.' });
  expect([semaphore.waiting, model.requests.length]).toEqual([0, 0]);
  expect((await agent.messages()).map(textOf)).toEqual(['Me too', 'Not now.']);
  open();
  await running;
});

test('if the queue of the semaphore is full, the call fails with OVERLOADED, and nothing is stored', async () => {
  const { semaphore, open, running, agent } = await busy({}, ['Mine'], 0);
  const events: AgentEvent[] = [];
  agent.addHook({ on: { '*': (event) => void events.push(event) } });
  await expect(agent.call('Me too')).rejects.toMatchObject({ code: 'OVERLOADED', retryable: true });
  expect(events.map(({ type }) => type)).toEqual(['run-start', 'error', 'run-end']);
  expect(await agent.call('Me too', { throwOnError: false })).toMatchObject({
    reason: 'error',
    error: { code: 'OVERLOADED' },
  });
  expect(await agent.messages()).toEqual([]);
  open();
  await running;
  expect(await agent.call('Now')).toMatchObject({ text: 'Mine' });
  expect(semaphore.free).toBe(1);
});

test('a call that is paused during its wait has no slot, so a child agent that it still runs waits for its own', async () => {
  const semaphore = new Semaphore(1);
  const child = agentOf(semaphore, ['Found.'], { name: 'child' });
  const ask = agentTool(child.agent, { description: 'Asks the child' });
  const { agent } = agentOf(
    semaphore,
    [{ toolCalls: [{ name: ask.name, id: 'c', input: { message: 'Search' } }] }],
    { tools: [{ ...ask, needsApproval: true }] },
  );
  await agent.call('Go');
  const { wait, open } = gate();
  const first = agentOf(semaphore, [[{ wait }, { text: 'First' }]]);
  const running = first.agent.call('Hi');
  await until(() => first.model.requests.length === 1);
  const paused = agent.call([{ type: 'approve', toolUseId: 'c' }]);
  await until(() => semaphore.waiting === 1);
  agent.interrupt({ mode: 'pause' });
  await until(() => semaphore.waiting === 0);
  await until(() => semaphore.waiting === 1 || child.model.requests.length === 1);
  expect([child.model.requests.length, semaphore.waiting]).toEqual([0, 1]);
  open();
  await running;
  expect(await paused).toMatchObject({ reason: 'suspended', toolsUsed: [ask.name] });
  expect([child.model.requests.length, semaphore.free]).toEqual([1, 1]);
});

test.each<[string, ScriptedReply, (agent: ReActAgent) => Promise<unknown>]>([
  ['a failure', { error: new Error('down') }, (agent) => agent.call('Hi').catch(() => {})],
  [
    'a failure as a result',
    { error: new Error('down') },
    (agent) => agent.call('Hi', { throwOnError: false }),
  ],
  [
    'a reader that leaves',
    'one two three',
    async (agent) => {
      for await (const { type } of agent.stream('Hi')) if (type === 'reasoning-chunk') break;
    },
  ],
  [
    'a cancelled stream',
    { text: 'one ', hang: true },
    async (agent) => {
      const reader = agent.stream('Hi').readable().getReader();
      while ((await reader.read()).value?.[0]?.type !== 'reasoning-chunk');
      await reader.cancel();
    },
  ],
  [
    'a hook that fails',
    'ok',
    (agent) => {
      const remove = agent.addHook({
        on: { 'pre-reasoning': () => Promise.reject(new Error('hook')) },
      });
      return agent
        .call('Hi')
        .catch(() => {})
        .finally(remove);
    },
  ],
])('%s frees the slot in the semaphore', async (_what, reply, leave) => {
  const semaphore = new Semaphore(1);
  const { agent } = agentOf(semaphore, [reply, 'Fine', 'Fine']);
  await leave(agent);
  expect(semaphore.free).toBe(1);
  expect(await agent.call('Again')).toMatchObject({ reason: 'stop' });
});

test('a stream that nobody reads occupies no slot', () => {
  const semaphore = new Semaphore(1);
  agentOf(semaphore, []).agent.stream('Hi');
  expect(semaphore.free).toBe(1);
});

test('a call that waits in the queue of its own agent occupies no slot', async () => {
  const semaphore = new Semaphore(2);
  const { wait, open } = gate();
  const { agent, model } = agentOf(semaphore, [[{ wait }, { text: 'One' }], 'Two'], {
    whenBusy: 'queue',
  });
  const calls = Promise.all([agent.call('1'), agent.call('2')]);
  await until(() => model.requests.length === 1);
  expect(semaphore.free).toBe(1);
  open();
  expect((await calls).map(({ text }) => text)).toEqual(['One', 'Two']);
});

test('concurrencyLimit() rejects a value that is not a semaphore', () => {
  expect(() => concurrencyLimit({} as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test.for(seeds({ quick: 5, full: 50 }))(
  'concurrencyLimit() never runs more agents than there are slots, however calls end: seed %i',
  async (seed) => {
    const random = randomOf(seed);
    const pause = async (): Promise<void> => {
      for (let tick = Math.floor(random() * 60); tick > 0; tick -= 1) await Promise.resolve();
    };
    const semaphore = new Semaphore(3);
    const asked = { now: 0, most: 0 };
    const reply: ScriptedReply = () => {
      asked.most = Math.max(asked.most, (asked.now += 1));
      return [
        { text: 'one ' },
        { wait: pause },
        { text: 'two' },
        ...(random() < 0.3 ? [{ error: new Error('down') }] : []),
      ];
    };
    const call = async (): Promise<void> => {
      await pause();
      // With a real clock, calls on a busy machine wait for timers, and do not overlap.
      const { agent, model } = agentOf(semaphore, [reply], { monotonicNow: () => 0 });
      // After its end, a run makes no further requests, and its slot is free.
      agent.addHook({ on: { 'run-end': () => void (asked.now -= model.requests.length) } });
      const controller = new AbortController();
      const events: AgentEvent[] = [];
      const how = random();
      if (how < 0.3) void pause().then(() => (how < 0.15 ? controller.abort() : agent.interrupt()));
      const leaves = how > 0.8 ? 3 : Infinity;
      const stream = agent.stream('Hi', { signal: controller.signal });
      const reading = (async () => {
        for await (const event of stream) if (events.push(event) >= leaves) break;
      })();
      await reading.catch(() => {});
      if (leaves === Infinity) expect(orderFaults(events)).toEqual([]);
      expect(historyFaults(await agent.messages())).toEqual([]);
    };
    await Promise.all(Array.from({ length: 20 }, call));
    expect([semaphore.free, semaphore.waiting, asked.now]).toEqual([3, 0, 0]);
    expect(asked.most).toBeLessThanOrEqual(3);
    expect(asked.most).toBeGreaterThan(1);
  },
);
