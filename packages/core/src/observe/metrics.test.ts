import { expect, test } from 'vitest';
import { summarizeHistory } from '../context/summarize-history.ts';
import { AgentError } from '../error/agent-error.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { userMessage } from '../message/msg.ts';
import { summaryFallback } from '../answer/summary-fallback.ts';
import { outputGuards, lengthRule } from '@isoloop/guards';
import type { ModelDelta, RunInfo } from '../model/chat-model.ts';
import { fallback } from '../resilience/fallback.ts';
import { modelTimeout } from '../resilience/model-timeout.ts';
import { retry } from '../resilience/retry.ts';
import { toolRetry } from '../resilience/tool-retry.ts';
import { wrapModel } from '../model/wrap-model.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { approvals } from '../approval/approvals.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { metrics, type Metrics, type ModelMetric } from './metrics.ts';

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
const wait = tool({
  name: 'wait',
  description: '',
  input,
  execute: (_input, { suspend }) => suspend('later'),
});

/** Creates an agent with metrics(). The clock advances 10 ms at each reading. */
function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const recorded: [string, unknown][] = [];
  const recorder: Metrics = {
    agentCall: (metric) => recorded.push(['agentCall', metric]),
    tokenUsage: (usage, labels) => recorded.push(['tokenUsage', { usage, labels }]),
    modelRequest: (metric) => recorded.push(['modelRequest', metric]),
    contextFitted: (metric) => recorded.push(['contextFitted', metric]),
    toolCall: (metric) => recorded.push(['toolCall', metric]),
    guardRejection: (metric) => recorded.push(['guardRejection', metric]),
  };
  let time = 0;
  const now = () => (time += 10);
  const { agent } = scriptedAgent(replies, {
    tools: [fine, bad, fatal, wait],
    sessionId: 's',
    userId: 'u',
    ...options,
    use: [metrics(recorder, { now }), ...(options.use ?? [])],
  });
  const of = (kind: string) =>
    recorded.filter(([name]) => name === kind).map(([, metric]) => metric);
  return { agent, of, recorded };
}

test('metrics() names the error of a failed summary at a limit, and that of a failed summary of the history', async () => {
  const error = new AgentError('MODEL_SERVER', 'down');
  const limited = setUp([{ error }], { limits: { iterations: 0 }, use: [summaryFallback()] });
  await limited.agent.call('go');
  expect(limited.of('agentCall')).toMatchObject([
    { reason: 'max-iterations', error: 'MODEL_SERVER' },
  ]);
  const summaries = summarizeHistory({
    window: 150,
    reserveOutput: 0,
    summaryTokens: 40,
    model: new ScriptedModel([{ error }]),
    onError: () => {},
  });
  const { agent, of } = setUp(['fine'], {
    use: [summaries],
    tools: [],
    memory: new InMemoryMemory(
      Array.from({ length: 20 }, (_, n) => userMessage(`q${n}`.padEnd(40))),
    ),
  });
  await agent.call('go');
  expect(of('contextFitted')).toEqual([
    {
      agent: 'a',
      sessionId: 's',
      userId: 'u',
      runId: expect.any(String),
      removed: expect.any(Number),
      before: expect.any(Number),
      after: expect.any(Number),
      error: 'MODEL_SERVER',
    },
  ]);
  expect(of('agentCall')).toMatchObject([{ reason: 'stop' }]);
});

test('metrics() measures a call, its model requests, its tool calls and its tokens', async () => {
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
  expect(of('agentCall')).toEqual([
    {
      ...labels,
      reason: 'stop',
      durationMs: result.durationMs,
      iterations: 2,
      toolsUsed: ['fine', 'bad'],
    },
  ]);
  expect(of('tokenUsage')).toEqual([{ usage: { inputTokens: 20, outputTokens: 10 }, labels }]);
  expect(of('modelRequest')).toEqual([
    expect.objectContaining({
      ...labels,
      outcome: 'ok',
      usage: { inputTokens: 10, outputTokens: 5 },
      firstDeltaMs: 10,
      durationMs: 20,
    }),
    expect.objectContaining({ ...labels, outcome: 'ok', firstDeltaMs: 10, durationMs: 20 }),
  ]);
  expect(of('toolCall')).toHaveLength(2);
  expect(of('toolCall')).toEqual(
    expect.arrayContaining([
      {
        ...labels,
        name: 'fine',
        toolUseId: 'c1',
        durationMs: expect.any(Number),
        outcome: 'success',
      },
      { ...labels, name: 'bad', toolUseId: 'c2', durationMs: expect.any(Number), outcome: 'error' },
    ]),
  );
});

test('metrics() names why an answer may not be whole', async () => {
  const { agent, of } = setUp([{ deltas: [[{ type: 'finish', reason: 'length' }]] }]);
  await agent.call('go');
  expect(of('agentCall')).toMatchObject([{ reason: 'stop', incomplete: 'length' }]);
});

test('metrics() measures a tool that suspends and a tool that ends the call', async () => {
  const { agent, of } = setUp([{ toolCalls: [{ name: 'wait' }] }]);
  await agent.call('go');
  expect(of('toolCall')).toMatchObject([{ name: 'wait', outcome: 'suspended' }]);
  expect(of('agentCall')).toMatchObject([{ reason: 'suspended' }]);

  const other = setUp([{ toolCalls: [{ name: 'fatal' }] }]);
  await other.agent.call('go', { throwOnError: false });
  expect(other.of('toolCall')).toMatchObject([{ name: 'fatal', outcome: 'failed' }]);
  expect(other.of('agentCall')).toMatchObject([{ reason: 'error', error: 'TOOL_ERROR' }]);
});

test("the time until an approval is not part of the tool's time, and a rejected tool call is not measured", async () => {
  const recorded: unknown[] = [];
  let time = 0;
  const recorder: Metrics = {
    toolCall: ({ name, durationMs, outcome }) => recorded.push([name, durationMs, outcome]),
  };
  const work = (name: string) =>
    tool({ name, description: '', input, needsApproval: true, execute: () => ((time += 5), 'ok') });
  const names = ['approved', 'refused', 'left'];
  const { agent } = scriptedAgent([{ toolCalls: names.map((name) => ({ name })) }], {
    tools: names.map(work),
    limits: { parallelTools: 1 },
    use: [
      metrics(recorder, { now: () => time }),
      approvals({
        decide: ({ name }) => {
          time += 1_000;
          if (name === 'left') return undefined;
          return name === 'refused' ? { type: 'reject' } : { type: 'approve' };
        },
      }),
    ],
  });
  expect(await agent.call('go')).toMatchObject({
    reason: 'suspended',
    pending: [{ name: 'left' }],
  });
  expect(recorded).toEqual([['approved', 5, 'success']]);
});

test('metrics() measures a model request that failed and a model request that an interrupt canceled', async () => {
  const { agent, of } = setUp([
    { error: new AgentError('MODEL_SERVER', 'down') },
    { text: 'Half ', hang: true },
  ]);
  await agent.call('go', { throwOnError: false });
  expect(of('modelRequest')[0]).toMatchObject({ outcome: 'failed', error: 'MODEL_SERVER' });
  expect(of('modelRequest')[0]).not.toHaveProperty('firstDeltaMs');
  expect(of('tokenUsage')).toEqual([]);

  for await (const { type } of agent.stream('go on'))
    if (type === 'reasoning-chunk') agent.interrupt();
  expect(of('modelRequest')[1]).toMatchObject({ outcome: 'cancelled', firstDeltaMs: 10 });
  expect(of('agentCall').at(-1)).toMatchObject({ reason: 'interrupted' });
});

test('a guard rejection is labeled with its stage and category', async () => {
  const error = new AgentError('GUARD_REJECTED', 'No.', {
    details: { stage: 'length', category: 'INVALID_INPUT' },
  });
  const { agent, of } = setUp([], { use: [{ wrapInput: () => Promise.reject(error) }] });
  await agent.call('go');
  expect(of('guardRejection')).toMatchObject([
    { stage: 'length', category: 'INVALID_INPUT', userId: 'u' },
  ]);
  expect(of('agentCall')).toMatchObject([{ reason: 'rejected', error: 'GUARD_REJECTED' }]);
});

test('the labels name the model that answered and its run, with metrics() at any place in `use`', async () => {
  for (const order of ['first', 'last', 'between'] as const) {
    const recorded: ModelMetric[] = [];
    const measured = metrics({ modelRequest: (metric) => recorded.push(metric) });
    const down = { error: new AgentError('MODEL_SERVER', 'down', { retryable: true }) };
    const first = new ScriptedModel([down, down, 'mine'], { modelId: 'first' });
    const second = new ScriptedModel(['theirs', down], { modelId: 'second' });
    const third = new ScriptedModel(['the last'], { modelId: 'third' });
    const inner = [wrapModel(second, fallback([third]))];
    const around = {
      first: [measured, fallback(inner)],
      last: [fallback(inner), measured],
      between: [retry(), measured, fallback(inner)],
    };
    const agent = new ReActAgent({
      name: 'a',
      model: first,
      userId: 'u',
      use: [...around[order]],
    });
    const texts: string[] = [];
    for (let n = 0; n < 3; n += 1) texts.push((await agent.call('go')).text);
    expect(texts).toEqual(['theirs', 'the last', 'mine']);
    const answered = recorded.map(({ modelId, outcome }) => `${modelId} ${outcome}`);
    expect(answered).toEqual(
      order === 'last'
        ? ['first failed', 'first failed', 'first ok']
        : ['second ok', 'third ok', 'first ok'],
    );
    for (const metric of recorded)
      expect(metric).toMatchObject({ agent: 'a', sessionId: agent.sessionId, userId: 'u' });
    expect(new Set(recorded.map(({ runId }) => runId)).size).toBe(3);
  }
});

test('a canceled request is measured even if the model ignores the signal', async () => {
  const { agent, of } = setUp([], { model: { ...new ScriptedModel([]), stream: () => hanging() } });
  const abort = new AbortController();
  const call = agent.call('go', { signal: abort.signal });
  await expect.poll(() => asked).toBe(true);
  abort.abort();
  expect(await call).toMatchObject({ reason: 'aborted' });
  expect(of('modelRequest')).toMatchObject([{ outcome: 'cancelled', sessionId: 's' }]);
});

let asked = false;

async function* hanging(): AsyncGenerator<readonly ModelDelta[]> {
  asked = true;
  yield await new Promise<readonly ModelDelta[]>(() => {});
}

test('an attempt that a timeout ended counts as failed, even if the model ignores the signal', async () => {
  const recorded: ModelMetric[] = [];
  const measured = metrics({ modelRequest: (metric) => recorded.push(metric) });
  const extensions = [
    retry({ sleep: async () => {} }),
    modelTimeout({ firstDeltaMs: 1 }),
    measured,
  ];
  const { agent } = scriptedAgent([{ hang: true }, 'Hi'], { use: [...extensions] });
  expect(await agent.call('go')).toMatchObject({ text: 'Hi' });
  expect(recorded.map(({ outcome, error }) => [outcome, error])).toEqual([
    ['failed', 'MODEL_TIMEOUT'],
    ['ok', undefined],
  ]);
});

test('a model request outside a run has no labels', async () => {
  const recorded: ModelMetric[] = [];
  const model = wrapModel(
    new ScriptedModel(['Hi.']),
    metrics({ modelRequest: (metric) => recorded.push(metric) }),
  );
  for await (const _deltas of model.stream(
    { messages: [], tools: [] },
    { signal: new AbortController().signal },
  ));
  expect(recorded).toMatchObject([{ modelId: 'scripted', outcome: 'ok' }]);
  expect(recorded[0]).not.toHaveProperty('runId');
});

test('the callbacks of retries, fallbacks and guards get the data of their run', async () => {
  const told: (RunInfo | undefined)[] = [];
  const note = ({ run }: { readonly run?: RunInfo | undefined }): void => void told.push(run);
  const transient = new AgentError('MODEL_SERVER', 'down', { retryable: true });
  const model = new ScriptedModel([{ error: transient }, { error: transient }]);
  const other = new ScriptedModel([{ toolCalls: [{ name: 'flaky' }] }, '12345678']);
  let tries = 0;
  const flaky = tool({
    name: 'flaky',
    description: '',
    input,
    execute: () => {
      if ((tries += 1) === 1) throw new AgentError('INTERNAL', 'busy', { retryable: true });
      return 'ok';
    },
  });
  const noWait = { sleep: async () => {}, onRetry: note };
  const extensions = [
    outputGuards([lengthRule({ max: 5, mark: '…', onViolation: note })], { onAction: note }),
    fallback([other], { onFallback: note }),
    retry({ attempts: 2, ...noWait }),
    toolRetry(noWait),
  ];
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [flaky],
    sessionId: 's',
    userId: 'u',
    use: [...extensions],
  });
  expect((await agent.call('go')).text).toBe('1234…');
  const run = { runId: told[0]?.runId, sessionId: 's', userId: 'u', agentPath: ['a'] };
  // The six entries come from retry(), fallback(), toolRetry(), fallback() again, `onViolation` and
  // `onAction`.
  expect(told).toEqual(Array.from({ length: 6 }, () => run));
});

test('the request for a history summary belongs to the run', async () => {
  const recorded: ModelMetric[] = [];
  const { agent } = scriptedAgent(['one', 'the summary', 'two'], {
    use: [
      metrics({ modelRequest: (metric) => recorded.push(metric) }),
      summarizeHistory({ window: 600, reserveOutput: 50, summaryTokens: 100 }),
    ],
  });
  await agent.call('many words '.repeat(100));
  expect(await agent.call('more words '.repeat(100))).toMatchObject({ text: 'two' });
  expect(recorded.map(({ sessionId }) => sessionId)).toEqual(recorded.map(() => agent.sessionId));
  expect(recorded).toHaveLength(3);
  expect(recorded[1]!.runId).toBe(recorded[2]!.runId);
});

test('each attempt is counted, also of a fallback model', async () => {
  const recorded: unknown[] = [];
  const measured = metrics({
    modelRequest: ({ modelId, outcome }) => recorded.push([modelId, outcome]),
  });
  const first = new ScriptedModel([{ error: new AgentError('MODEL_SERVER', 'down') }], {
    modelId: 'first',
  });
  const second = wrapModel(new ScriptedModel(['done'], { modelId: 'second' }), measured);
  const agent = new ReActAgent({
    name: 'a',
    model: first,
    use: [fallback([second]), measured],
  });
  expect(await agent.call('go')).toMatchObject({ text: 'done' });
  expect(recorded).toEqual([
    ['first', 'failed'],
    ['second', 'ok'],
  ]);
});

test('a recorder that throws or has no methods does not affect the call', async () => {
  const broken = (): never => {
    throw new Error('full');
  };
  const all: Metrics = {
    agentCall: broken,
    tokenUsage: broken,
    modelRequest: broken,
    toolCall: broken,
    guardRejection: broken,
  };
  for (const recorder of [all, {}]) {
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'fine' }] }, 'done'], {
      tools: [fine],
      use: [metrics(recorder)],
    });
    expect(await agent.call('go')).toMatchObject({ text: 'done' });
  }
});

test.each([
  [null, {}],
  [undefined, {}],
  [{}, { now: 5 }],
])('metrics() rejects the arguments %j and %j', (recorder, options) => {
  expect(() => metrics(recorder as never, options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});
