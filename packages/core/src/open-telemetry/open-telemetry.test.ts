import { closeOpenCalls } from '../approval/close-open-calls.ts';
import { context, SpanStatusCode, trace, type HrTime } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import type { ChatModel, ModelDelta } from '../model/chat-model.ts';
import { contextPolicy } from '../context/context-policy.ts';
import { summaryFallback } from '../answer/summary-fallback.ts';
import { fallback } from '../resilience/fallback.ts';
import { modelTimeout } from '../resilience/model-timeout.ts';
import { retry } from '../resilience/retry.ts';
import { wrapModel } from '../model/wrap-model.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { agentTool } from '../several/agent-tool.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { openTelemetry, type OpenTelemetryOptions } from './open-telemetry.ts';

const input = { type: 'object' } as const;
const look = tool({ name: 'look', description: 'Looks', input, execute: () => 'seen' });
const pay = tool({
  name: 'pay',
  description: '',
  input,
  needsApproval: true,
  execute: () => 'paid',
});

function setUp(
  replies: readonly ScriptedReply[],
  options: Partial<AgentOptions> & { content?: boolean } = {},
) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const { content = false, ...agentOptions } = options;
  const telemetry: OpenTelemetryOptions = {
    api: { trace, context },
    tracer: provider.getTracer('test'),
    content,
  };
  let time = 1_700_000_000_000;
  const { agent } = scriptedAgent(replies, {
    tools: [look, pay],
    sessionId: 's',
    now: () => (time += 10),
    ...agentOptions,
    use: [openTelemetry(telemetry), ...(agentOptions.use ?? [])],
  });
  return { agent, spans: () => exporter.getFinishedSpans() };
}

const named = (spans: readonly ReadableSpan[], name: string) =>
  spans.filter((span) => span.name === name);
const ms = ([seconds, nanoseconds]: HrTime) => seconds * 1000 + nanoseconds / 1e6;

test('the span of a call names why the answer may not be whole', async () => {
  const { agent, spans } = setUp([{ deltas: [[{ type: 'finish', reason: 'sensitive' }]] }]);
  await agent.call('go');
  expect(named(spans(), 'invoke_agent a')[0]).toMatchObject({
    attributes: { 'isoloop.reason': 'stop', 'isoloop.incomplete': 'filtered' },
  });
  expect(named(spans(), 'chat scripted')[0]).toMatchObject({
    attributes: { 'gen_ai.response.finish_reasons': ['sensitive'] },
  });
});

test('the span of a call shows a failed summary at a limit, and a context policy that worked around an error', async () => {
  const error = new AgentError('MODEL_SERVER', 'down, apiKey=a1b2c3d4e5');
  const limited = setUp([{ error }], { limits: { iterations: 0 }, use: [summaryFallback()] });
  await limited.agent.call('go');
  expect(named(limited.spans(), 'invoke_agent a')[0]).toMatchObject({
    attributes: { 'isoloop.reason': 'max-iterations', 'error.type': 'MODEL_SERVER' },
    status: { code: SpanStatusCode.ERROR, message: 'down, apiKey=***' },
  });
  const fit = contextPolicy({
    fit: ({ messages }) => ({ messages, removed: 0, before: 1, after: 1, error }),
  });
  const { agent, spans } = setUp(['fine'], { use: [fit] });
  await agent.call('go');
  expect(named(spans(), 'invoke_agent a')[0]).toMatchObject({
    events: [
      {
        name: 'context-fitted',
        attributes: { 'error.type': 'MODEL_SERVER', 'error.message': 'down, apiKey=***' },
      },
    ],
    status: { code: SpanStatusCode.UNSET },
  });
});

test('the spans of a call, its model requests and its tools form one tree', async () => {
  const { agent, spans } = setUp(
    [{ toolCalls: [{ name: 'look', input: { at: 'x', apiKey: 'k' }, id: 'c1' }] }, 'done'],
    { userId: 'u' },
  );
  await agent.call('go');
  expect(spans().map(({ name }) => name)).toEqual([
    'chat scripted',
    'execute_tool look',
    'chat scripted',
    'invoke_agent a',
  ]);
  const run = named(spans(), 'invoke_agent a')[0]!;
  const { spanId, traceId } = run.spanContext();
  for (const span of spans()) {
    expect(span.spanContext().traceId).toBe(traceId);
    expect(ms(span.endTime)).toBeGreaterThan(ms(span.startTime));
    if (span !== run) expect(span.parentSpanContext?.spanId).toBe(spanId);
  }
  expect(run.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'a',
    'gen_ai.conversation.id': 's',
    'user.id': 'u',
    'gen_ai.usage.input_tokens': 20,
    'gen_ai.usage.output_tokens': 10,
    'isoloop.reason': 'stop',
  });
  expect(named(spans(), 'chat scripted')[0]!.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'scripted',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.response.finish_reasons': ['tool_calls'],
  });
  expect(named(spans(), 'execute_tool look')[0]!.attributes).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'look',
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': 'c1',
    'gen_ai.tool.description': 'Looks',
    'isoloop.tool.state': 'success',
  });
  const ids = {
    'gen_ai.conversation.id': 's',
    'user.id': 'u',
    'isoloop.run.id': run.attributes['isoloop.run.id'],
  };
  for (const { attributes } of spans()) expect(attributes).toMatchObject(ids);
  expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toMatch(/seen|done|"k"/);
});

test('content is recorded only with `content: true`, and its secrets are masked', async () => {
  const { agent, spans } = setUp(
    [{ toolCalls: [{ name: 'look', input: { at: 'x', apiKey: 'k' } }] }, 'done'],
    { content: true },
  );
  await agent.call('go');
  expect(named(spans(), 'execute_tool look')[0]!.attributes).toMatchObject({
    'gen_ai.tool.call.arguments': '{"at":"x","apiKey":"***"}',
    'gen_ai.tool.call.result': 'seen',
  });
  const done = [
    { role: 'assistant', parts: [{ type: 'text', content: 'done' }], finish_reason: 'stop' },
  ];
  const said = (name: string, at: number, key: string) =>
    JSON.parse(String(named(spans(), name)[at]!.attributes[key])) as unknown;
  expect(said('invoke_agent a', 0, 'gen_ai.output.messages')).toEqual(done);
  expect(said('invoke_agent a', 0, 'gen_ai.input.messages')).toEqual([
    { role: 'user', parts: [{ type: 'text', content: 'go' }] },
  ]);
  expect(said('chat scripted', 1, 'gen_ai.output.messages')).toEqual(done);
  const call = {
    type: 'tool_call',
    id: expect.any(String),
    name: 'look',
    arguments: { at: 'x', apiKey: '***' },
  };
  expect(said('chat scripted', 0, 'gen_ai.output.messages')).toEqual([
    { role: 'assistant', parts: [call], finish_reason: 'tool_calls' },
  ]);
  expect(said('chat scripted', 1, 'gen_ai.input.messages')).toMatchObject([
    { role: 'user' },
    { role: 'assistant', parts: [call] },
    {
      role: 'tool',
      parts: [{ type: 'tool_call_response', id: expect.any(String), response: 'seen' }],
    },
  ]);
  expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toContain('"k"');
});

test('a failure sets the error of its span, and all spans end', async () => {
  const { agent, spans } = setUp([
    { text: 'Half ', error: new AgentError('MODEL_SERVER', 'down') },
  ]);
  await expect(agent.call('go')).rejects.toThrow('down');
  expect(spans().map(({ name }) => name)).toEqual(['chat scripted', 'invoke_agent a']);
  expect(spans()[1]!.status).toEqual({ code: SpanStatusCode.ERROR, message: 'down' });
  expect(spans().map(({ attributes }) => attributes['error.type'])).toEqual([
    'MODEL_SERVER',
    'MODEL_SERVER',
  ]);
  expect(spans()[0]!.status.code).toBe(SpanStatusCode.ERROR);

  const other = setUp([{ error: new AgentError('MODEL_SERVER', 'down') }]);
  await other.agent.call('go', { throwOnError: false });
  expect(other.spans().at(-1)!.attributes['error.type']).toBe('MODEL_SERVER');
});

test('the spans of a call that waits for an approval, and of a call whose reader leaves, end', async () => {
  const { agent, spans } = setUp(
    [{ toolCalls: [{ name: 'pay' }] }, { text: 'Half ', hang: true }],
    { use: [closeOpenCalls()] },
  );
  await agent.call('go');
  expect(spans().map(({ name }) => name)).toEqual([
    'chat scripted',
    'execute_tool pay',
    'invoke_agent a',
  ]);
  for await (const { type } of agent.stream('again')) if (type === 'reasoning-chunk') break;
  expect(named(spans(), 'invoke_agent a')).toHaveLength(2);
  expect(named(spans(), 'chat scripted')).toHaveLength(2);
});

test("the span of work inside a tool, even of a child agent, is a child of the tool's span", async () => {
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  }).getTracer('test');
  // A context manager that holds one context at a time, which is enough for one agent.
  let now = context.active();
  const within = (inside: typeof now, act: () => unknown): unknown => {
    const before = now;
    now = inside;
    const given = act();
    if (given instanceof Promise) return given.finally(() => (now = before));
    now = before;
    return given;
  };
  const extensions = [
    openTelemetry({
      api: { trace, context: { active: () => now, with: within } as never },
      tracer,
    }),
  ];
  const child = new ReActAgent({
    name: 'child',
    model: new ScriptedModel(['done']),
    use: [...extensions],
  });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'call_child', input: { message: 'go' } }] },
    'done',
  ]);
  await new ReActAgent({
    name: 'a',
    model,
    tools: [agentTool(child, { description: '' })],
    use: [...extensions],
  }).call('go');
  const spans = exporter.getFinishedSpans();
  const parentOf = (name: string) => named(spans, name)[0]!.parentSpanContext?.spanId;
  const idOf = (name: string) => named(spans, name)[0]!.spanContext().spanId;
  expect(parentOf('invoke_agent child')).toBe(idOf('execute_tool call_child'));
  expect(parentOf('execute_tool call_child')).toBe(idOf('invoke_agent a'));
});

test('a request has one span for all attempts and models, or one span each if openTelemetry() is last in `use`', async () => {
  const busy = new AgentError('MODEL_SERVER', 'busy', { retryable: true });
  for (const order of ['first', 'last'] as const) {
    const exporter = new InMemorySpanExporter();
    const tracer = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    }).getTracer('test');
    const traced = openTelemetry({ api: { trace, context }, tracer });
    const model = new ScriptedModel([{ text: 'Half ', error: busy }, { error: busy }], {
      modelId: 'one',
    });
    const other = new ScriptedModel(
      [{ deltas: [[{ type: 'text', id: 't', delta: 'Hi' }], [finish]] }],
      { modelId: 'two' },
    );
    const tries = retry({ attempts: 2, afterFirstDelta: true, sleep: async () => {} });
    const extensions =
      order === 'first'
        ? [traced, fallback([other]), tries]
        : [fallback([wrapModel(other, traced)]), tries, traced];
    const agent = new ReActAgent({ name: 'a', model, use: [...extensions] });
    expect((await agent.call('go')).text).toBe('Hi');
    const spans = exporter.getFinishedSpans();
    const run = named(spans, 'invoke_agent a')[0]!;
    const chats = spans.filter((span) => span !== run);
    for (const { parentSpanContext } of chats)
      expect(parentSpanContext?.spanId).toBe(run.spanContext().spanId);
    const said = chats.map(({ name, attributes, events }) => [
      name,
      attributes['error.type'],
      attributes['gen_ai.response.model'],
      attributes['gen_ai.response.id'],
      events.map((event) => event.attributes?.['reason']),
    ]);
    if (order === 'first')
      expect(said).toEqual([['chat one', undefined, 'two-2026', 'r1', ['fallback']]]);
    else {
      expect(said).toEqual([
        ['chat one', 'MODEL_SERVER', undefined, undefined, []],
        ['chat one', 'MODEL_SERVER', undefined, undefined, []],
        ['chat two', undefined, 'two-2026', 'r1', ['fallback']],
      ]);
    }
  }
});

const finish: ModelDelta = {
  type: 'finish',
  reason: 'stop',
  metadata: { id: 'r1', model: 'two-2026' },
};

test("with openTelemetry() around and inside fallback(), the span of an attempt is a child of the request's span", async () => {
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  }).getTracer('test');
  const traced = openTelemetry({ api: { trace, context }, tracer });
  const model = new ScriptedModel([{ error: new AgentError('MODEL_SERVER', 'down') }], {
    modelId: 'one',
  });
  const other = wrapModel(new ScriptedModel(['Hi'], { modelId: 'two' }), traced);
  await new ReActAgent({ name: 'a', model, use: [traced, fallback([other])] }).call('go');
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name }) => name)).toEqual(['chat two', 'chat one', 'invoke_agent a']);
  expect(spans[0]!.parentSpanContext?.spanId).toBe(spans[1]!.spanContext().spanId);
  expect(spans[1]!.attributes['gen_ai.response.model']).toBe('two');
});

test('parallel tools, and a tool that was approved later, each have a span', async () => {
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  }).getTracer('test');
  const traced = openTelemetry({ api: { trace, context }, tracer });
  const calls = ['c1', 'c2'].map((id) => ({ name: 'look', id }));
  const { agent } = scriptedAgent([{ toolCalls: [...calls, { name: 'pay', id: 'c3' }] }, 'done'], {
    tools: [look, pay],
    use: [traced],
  });
  expect(await agent.call('go')).toMatchObject({ reason: 'suspended' });
  await agent.call([{ type: 'approve', toolUseId: 'c3' }]);
  const spans = exporter.getFinishedSpans();
  const [first, second] = named(spans, 'invoke_agent a');
  expect(
    named(spans, 'execute_tool look').map(({ attributes }) => attributes['gen_ai.tool.call.id']),
  ).toEqual(['c1', 'c2']);
  const [waiting, paid] = named(spans, 'execute_tool pay');
  expect(waiting!.parentSpanContext?.spanId).toBe(first!.spanContext().spanId);
  expect(paid!.parentSpanContext?.spanId).toBe(second!.spanContext().spanId);
  expect(paid!.attributes['isoloop.tool.state']).toBe('success');
});

test('the span of a failed tool has the status error', async () => {
  const bad = tool({
    name: 'bad',
    description: '',
    input,
    execute: () => Promise.reject(new Error('no')),
  });
  const { agent, spans } = setUp([{ toolCalls: [{ name: 'bad' }, { name: 'none' }] }, 'done'], {
    tools: [bad],
  });
  await agent.call('go');
  expect(named(spans(), 'execute_tool bad')[0]).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'error.type': 'TOOL_ERROR' },
  });
});

test('an interrupted request ends its span immediately without an error, even if the model hangs', async () => {
  let asked = false;
  async function* hanging(): AsyncGenerator<readonly ModelDelta[]> {
    asked = true;
    yield await new Promise<readonly ModelDelta[]>(() => {});
  }
  const model = { ...new ScriptedModel([]), provider: 'p', modelId: 'm', stream: hanging };
  const { agent, spans } = setUp([], { model });
  const call = agent.call('go');
  await expect.poll(() => asked).toBe(true);
  agent.interrupt();
  expect(await call).toMatchObject({ reason: 'interrupted' });
  expect(spans().map(({ name, status }) => [name, status.code])).toEqual([
    ['chat m', SpanStatusCode.UNSET],
    ['invoke_agent a', SpanStatusCode.UNSET],
  ]);
});

test('the span of the attempt after a timeout is a child of the call, not of the earlier attempt', async () => {
  const answer = new ScriptedModel(['Hi']);
  let tries = 0;
  async function* hanging(): AsyncGenerator<readonly ModelDelta[]> {
    yield await new Promise<readonly ModelDelta[]>(() => {});
  }
  const model: ChatModel = {
    provider: 'p',
    modelId: 'm',
    features: answer.features,
    stream: (request, options) =>
      (tries += 1) === 1 ? hanging() : answer.stream(request, options),
  };
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  }).getTracer('test');
  const around = [
    retry({ sleep: async () => {} }),
    modelTimeout({ firstDeltaMs: 1 }),
    openTelemetry({ api: { trace, context }, tracer }),
  ];
  expect(await new ReActAgent({ name: 'a', model, use: [...around] }).call('go')).toMatchObject({
    text: 'Hi',
  });
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name }) => name)).toEqual(['chat m', 'chat m', 'invoke_agent a']);
  expect(spans.map(({ attributes }) => attributes['error.type'])).toEqual([
    'MODEL_TIMEOUT',
    undefined,
    undefined,
  ]);
  const run = spans[2]!.spanContext().spanId;
  expect(spans.slice(0, 2).map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([
    run,
    run,
  ]);
});

/** Starts a span, and returns an API in which it is the active one. */
function withActiveSpan() {
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  }).getTracer('test');
  const outer = tracer.startSpan('outer');
  const active = trace.setSpan(context.active(), outer);
  const api = {
    trace,
    context: {
      active: () => active,
      with: (_inside: unknown, act: () => unknown) => act(),
    } as never,
  };
  return { exporter, tracer, outer, api };
}

test('the span of a model request outside a run is a child of the active span', async () => {
  const { exporter, tracer, outer, api } = withActiveSpan();
  const model = wrapModel(new ScriptedModel(['Hi']), openTelemetry({ api, tracer }));
  const settings = { temperature: 0.5, topP: 0.9, seed: 3, stop: ['END'], maxTokens: 7 };
  const request = { messages: [], tools: [], ...settings, responseSchema: {} };
  for await (const _deltas of model.stream(request, { signal: new AbortController().signal }));
  const [span] = exporter.getFinishedSpans();
  expect(span!.parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
  expect(span!.attributes).toMatchObject({
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.top_p': 0.9,
    'gen_ai.request.seed': 3,
    'gen_ai.request.stop_sequences': ['END'],
    'gen_ai.request.max_tokens': 7,
    'gen_ai.output.type': 'json',
  });
});

test('several agents share one openTelemetry(), and the span of a run is a child of the active span', async () => {
  const { exporter, tracer, outer, api } = withActiveSpan();
  const shared = openTelemetry({ api, tracer });
  const agents = ['a', 'b'].map(
    (name) => new ReActAgent({ name, model: new ScriptedModel(['done']), use: [shared] }),
  );
  await Promise.all(agents.map((agent) => agent.call('go')));
  const spans = exporter.getFinishedSpans();
  for (const name of ['a', 'b']) {
    const [run] = named(spans, `invoke_agent ${name}`);
    expect(run!.parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
    expect(
      spans.filter(
        ({ parentSpanContext }) => parentSpanContext?.spanId === run!.spanContext().spanId,
      ),
    ).toHaveLength(1);
  }
});

test.each([
  undefined,
  {},
  { api: {} },
  { api: { trace } },
  { api: { trace, context }, tracer: {} },
  { api: { trace, context }, content: 'yes' },
])('openTelemetry() rejects the options %#', (options) => {
  expect(() => openTelemetry(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});
