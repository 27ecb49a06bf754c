import { expect, test } from 'vitest';
import { AgentError } from '../../error/agent-error.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { look } from '@test/support/plain-tools.ts';
import { retry } from '../retry.ts';
import { toolRetry } from '../tool-retry.ts';
import { fallback } from '../fallback.ts';
import { modelTimeout } from '../model-timeout.ts';
import { circuitBreaker } from '../circuit-breaker.ts';
import { wrapModel } from '../../model/wrap-model.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { tool } from '../../tool/tool.ts';
import { metrics, type AgentCallMetric } from '../../observe/metrics.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { concurrencyLimit } from '../../limits/concurrency-limit.ts';
import { Semaphore } from '../../limits/semaphore.ts';

const busy = new AgentError('MODEL_SERVER', 'busy', { retryable: true });

test('a call can time out while retry() waits before the next attempt', async () => {
  const { agent } = scriptedAgent([{ error: busy }, 'next'], {
    use: [retry({ sleep: () => new Promise(() => {}) })],
    limits: { timeoutMs: 5 },
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'CALL_TIMEOUT' });
  expect((await agent.call('go')).text).toBe('next');
});

test('metrics() records a call whose reader left', async () => {
  const done: AgentCallMetric[] = [];
  const { agent } = scriptedAgent(['a b c d'], {
    use: [metrics({ agentCall: (m) => done.push(m) })],
  });
  for await (const { type } of agent.stream('go')) if (type === 'reasoning-chunk') break;
  await expect.poll(() => agent.busy).toBe(false);
  expect(done).toMatchObject([{ reason: 'aborted' }]);
});

test('fallback() continues with another model if the first fails during a tool call with the same id', async () => {
  const one = new ScriptedModel([
    { text: 'Let me ', toolCalls: [{ name: 'look', id: 'c1', input: '{"a":' }], error: busy },
    { error: busy },
  ]);
  const two = new ScriptedModel([
    { text: 'I will ', toolCalls: [{ name: 'look', id: 'c1', input: { b: 1 } }] },
    'done',
  ]);
  const events: AgentEvent[] = [];
  const agent = new ReActAgent({
    name: 'a',
    model: one,
    tools: [look],
    use: [fallback([two])],
  });
  for await (const e of agent.stream('go')) events.push(e);
  const log = await agent.messages();
  expect(historyFaults(log)).toEqual([]);
  expect(JSON.stringify(log)).not.toContain('Let me');
  expect(
    log.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_use'),
  ).toMatchObject([{ input: { b: 1 } }]);
  expect(events.filter(({ type }) => type === 'step-reset')).toHaveLength(1);
  expect(log.at(-1)).toMatchObject({ content: [{ text: 'done' }] });
});

test('an interrupt while retry() waits ends the call without another attempt or model', async () => {
  let waits = 0;
  const agent: ReActAgent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([{ hang: true }, { hang: true }, 'next']),
    use: [
      fallback([new ScriptedModel(['other'])]),
      circuitBreaker(),
      retry({
        sleep: async () => {
          waits += 1;
          agent.interrupt();
        },
      }),
      modelTimeout({ firstDeltaMs: 2 }),
    ],
  });
  expect(await agent.call('go')).toMatchObject({ reason: 'interrupted' });
  expect(waits).toBe(1);
});

test('a call that is paused while retry() waits can be resumed', async () => {
  const agent: ReActAgent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([{ text: 'Half ', error: busy }, 'next']),
    use: [
      retry({ afterFirstDelta: true, sleep: async () => void agent.interrupt({ mode: 'pause' }) }),
    ],
  });
  expect(await agent.call('go')).toMatchObject({ reason: 'suspended' });
  expect(await agent.call()).toMatchObject({ reason: 'stop', text: 'next' });
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test('of ten simultaneous requests, a half-open breaker accepts one', async () => {
  let time = 0;
  const breaker = circuitBreaker({ failures: 1, openMs: 10, now: () => time });
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const inner = new ScriptedModel([
    { error: busy },
    ...Array.from({ length: 10 }, () => ({ wait: gate, text: 'ok' })),
  ]);
  const model = wrapModel(inner, breaker);
  const ask = async () => {
    for await (const _deltas of model.stream(
      { messages: [], tools: [] },
      { signal: new AbortController().signal },
    ));
  };
  await expect(ask()).rejects.toThrow();
  time = 10;
  const all = Promise.allSettled(Array.from({ length: 10 }, ask));
  await Promise.resolve();
  open();
  expect((await all).map(({ status }) => status).filter((s) => s === 'fulfilled')).toHaveLength(1);
  expect(breaker.state).toBe('closed');
});

test('a tool can time out while toolRetry() waits before the next attempt', async () => {
  const step = tool({
    name: 'step',
    description: '',
    input: { type: 'object' },
    timeoutMs: 3,
    execute: () => {
      throw busy;
    },
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'step' }] }, 'done'], {
    tools: [step],
    use: [toolRetry({ sleep: () => new Promise(() => {}) })],
  });
  expect((await agent.call('x')).text).toBe('done');
  expect(JSON.stringify(await agent.messages())).toContain('timed out after 3 ms');
});

test('an abort at the moment when a place becomes free loses no place', async () => {
  const s = new Semaphore(1);
  const first = await s.acquire();
  const abort = new AbortController();
  const second = s.acquire(abort.signal);
  const third = s.acquire();
  first();
  abort.abort();
  (await second)();
  (await third)();
  expect([s.free, s.waiting]).toEqual([1, 0]);
  const { agent } = scriptedAgent(['one', 'two'], { use: [concurrencyLimit(s)] });
  const held = await s.acquire();
  const c = new AbortController();
  const call = agent.call('x', { signal: c.signal });
  await expect.poll(() => s.waiting).toBe(1);
  held();
  c.abort();
  expect(await call).toMatchObject({ reason: 'aborted' });
  expect(await agent.messages()).toEqual([]);
  expect(s.free).toBe(1);
});
