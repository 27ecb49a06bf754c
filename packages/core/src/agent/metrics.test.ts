import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import { fallback } from '../model/fallback.ts';
import { wrapModel } from '../model/wrap-model.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import type { AgentOptions } from './agent-options.ts';
import { metrics, type Metrics } from './metrics.ts';
import { ReActAgent } from './react-agent.ts';

const input = { type: 'object' } as const;
const fine = tool({ name: 'fine', description: '', input, execute: () => 'ok' });
const bad = tool({
  name: 'bad',
  description: '',
  input,
  execute: () => {
    throw new Error('no');
  },
});
const fatal = tool({
  name: 'fatal',
  description: '',
  input,
  execute: () => {
    throw new AgentError('TOOL_ERROR', 'gone');
  },
});
const wait = tool({ name: 'wait', description: '', input, execute: (_input, { suspend }) => suspend('later') });

/** Each look at the clock is 10 ms after the last. */
function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const recorded: [string, unknown][] = [];
  const recorder: Metrics = {
    execution: (metric) => recorded.push(['execution', metric]),
    tokenUsage: (usage, labels) => recorded.push(['tokenUsage', { usage, labels }]),
    modelRequest: (metric) => recorded.push(['modelRequest', metric]),
    toolCall: (metric) => recorded.push(['toolCall', metric]),
    guardRejection: (metric) => recorded.push(['guardRejection', metric]),
  };
  let time = 0;
  const now = () => (time += 10);
  const model = new ScriptedModel(replies);
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [fine, bad, fatal, wait],
    sessionId: 's',
    userId: 'u',
    ...options,
    extensions: [metrics(recorder, { now }), ...(options.extensions ?? [])],
  });
  const of = (kind: string) => recorded.filter(([name]) => name === kind).map(([, metric]) => metric);
  return { agent, of, recorded };
}

test('a call, its requests, its tools and its tokens', async () => {
  const { agent, of } = setUp([
    {
      toolCalls: [
        { name: 'fine', id: 'c1' },
        { name: 'bad', id: 'c2' },
      ],
    },
    'done',
  ]);
  const result = await agent.call('go');
  const labels = { agent: 'a', sessionId: 's', userId: 'u', runId: expect.any(String) };
  expect(of('execution')).toEqual([
    { ...labels, reason: 'stop', durationMs: result.durationMs, iterations: 2, toolsUsed: ['fine', 'bad'] },
  ]);
  expect(of('tokenUsage')).toEqual([{ usage: { inputTokens: 20, outputTokens: 10 }, labels }]);
  expect(of('modelRequest')).toEqual([
    expect.objectContaining({ outcome: 'ok', usage: { inputTokens: 10, outputTokens: 5 }, firstDeltaMs: 10, durationMs: 20 }),
    expect.objectContaining({ outcome: 'ok', firstDeltaMs: 10, durationMs: 20 }),
  ]);
  expect(of('toolCall')).toHaveLength(2);
  expect(of('toolCall')).toEqual(
    expect.arrayContaining([
      { name: 'fine', sessionId: 's', toolUseId: 'c1', durationMs: expect.any(Number), outcome: 'success' },
      { name: 'bad', sessionId: 's', toolUseId: 'c2', durationMs: expect.any(Number), outcome: 'error' },
    ]),
  );
});

test('a tool that waits, and one that ends the call', async () => {
  const { agent, of } = setUp([{ toolCalls: [{ name: 'wait' }] }]);
  await agent.call('go');
  expect(of('toolCall')).toMatchObject([{ name: 'wait', outcome: 'suspended' }]);
  expect(of('execution')).toMatchObject([{ reason: 'suspended' }]);

  const other = setUp([{ toolCalls: [{ name: 'fatal' }] }]);
  await other.agent.call('go', { throwOnError: false });
  expect(other.of('toolCall')).toMatchObject([{ name: 'fatal', outcome: 'failed' }]);
  expect(other.of('execution')).toMatchObject([{ reason: 'error', error: 'TOOL_ERROR' }]);
});

test('a request that failed, and one that nobody read to its end', async () => {
  const { agent, of } = setUp([{ error: new AgentError('MODEL_SERVER', 'down') }, { text: 'Half ', hang: true }]);
  await agent.call('go', { throwOnError: false });
  expect(of('modelRequest')[0]).toMatchObject({ outcome: 'failed', error: 'MODEL_SERVER' });
  expect(of('modelRequest')[0]).not.toHaveProperty('firstDeltaMs');
  expect(of('tokenUsage')).toEqual([]);

  for await (const { type } of agent.stream('go on')) if (type === 'reasoning-chunk') agent.interrupt();
  expect(of('modelRequest')[1]).toMatchObject({ outcome: 'cancelled', firstDeltaMs: 10 });
  expect(of('execution').at(-1)).toMatchObject({ reason: 'interrupted' });
});

test('a rejection, by its stage and category', async () => {
  const error = new AgentError('GUARD_REJECTED', 'No.', { details: { stage: 'length', category: 'INVALID_INPUT' } }).toJSON();
  const { agent, of } = setUp([], { extensions: [{ guard: async () => ({ error }) }] });
  await agent.call('go');
  expect(of('guardRejection')).toMatchObject([{ stage: 'length', category: 'INVALID_INPUT', userId: 'u' }]);
  expect(of('execution')).toMatchObject([{ reason: 'rejected', error: 'GUARD_REJECTED' }]);
});

test('each attempt, also of a fallback model', async () => {
  const recorded: unknown[] = [];
  const measured = metrics({ modelRequest: ({ modelId, outcome }) => recorded.push([modelId, outcome]) });
  const first = new ScriptedModel([{ error: new AgentError('MODEL_SERVER', 'down') }], { modelId: 'first' });
  const second = wrapModel(new ScriptedModel(['done'], { modelId: 'second' }), measured);
  const agent = new ReActAgent({ name: 'a', model: first, extensions: [fallback([second]), measured] });
  expect(await agent.call('go')).toMatchObject({ text: 'done' });
  expect(recorded).toEqual([
    ['first', 'failed'],
    ['second', 'ok'],
  ]);
});

test('a recorder that throws, and one that records nothing, change nothing', async () => {
  const broken = (): never => {
    throw new Error('full');
  };
  const all: Metrics = { execution: broken, tokenUsage: broken, modelRequest: broken, toolCall: broken, guardRejection: broken };
  for (const recorder of [all, {}]) {
    const model = new ScriptedModel([{ toolCalls: [{ name: 'fine' }] }, 'done']);
    const agent = new ReActAgent({ name: 'a', model, tools: [fine], extensions: [metrics(recorder)] });
    expect(await agent.call('go')).toMatchObject({ text: 'done' });
  }
});

test.each([
  [null, {}],
  [undefined, {}],
  [{}, { now: 5 }],
])('metrics(%j, %j) is refused', (recorder, options) => {
  expect(() => metrics(recorder as never, options as never)).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});
