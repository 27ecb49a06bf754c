import { context, SpanStatusCode, trace, type HrTime } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { agentTool } from './agent-tool.ts';
import type { AgentOptions } from './agent-options.ts';
import { openTelemetry, type OpenTelemetryOptions } from './open-telemetry.ts';
import { ReActAgent } from './react-agent.ts';

const input = { type: 'object' } as const;
const look = tool({ name: 'look', description: '', input, execute: () => 'seen' });
const pay = tool({ name: 'pay', description: '', input, needsApproval: true, execute: () => 'paid' });

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> & { content?: boolean } = {}) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const { content = false, ...agentOptions } = options;
  const telemetry: OpenTelemetryOptions = { api: { trace, context }, tracer: provider.getTracer('test'), content };
  let time = 1_700_000_000_000;
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel(replies),
    tools: [look, pay],
    sessionId: 's',
    now: () => (time += 10),
    extensions: [openTelemetry(telemetry)],
    ...agentOptions,
  });
  return { agent, spans: () => exporter.getFinishedSpans() };
}

const named = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name);
const ms = ([seconds, nanoseconds]: HrTime) => seconds * 1000 + nanoseconds / 1e6;

test('a call, its requests and its tools as one tree', async () => {
  const { agent, spans } = setUp([{ toolCalls: [{ name: 'look', input: { at: 'x', apiKey: 'k' }, id: 'c1' }] }, 'done'], { userId: 'u' });
  await agent.call('go');
  expect(spans().map(({ name }) => name)).toEqual(['chat scripted', 'execute_tool look', 'chat scripted', 'invoke_agent a']);
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
    'gen_ai.usage.input_tokens': 10,
  });
  expect(named(spans(), 'execute_tool look')[0]!.attributes).toMatchObject({ 'gen_ai.tool.name': 'look', 'gen_ai.tool.call.id': 'c1' });
  expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toMatch(/seen|done|"k"/);
});

test('content only where it is asked for, with secrets masked', async () => {
  const { agent, spans } = setUp([{ toolCalls: [{ name: 'look', input: { at: 'x', apiKey: 'k' } }] }, 'done'], { content: true });
  await agent.call('go');
  expect(named(spans(), 'execute_tool look')[0]!.attributes).toMatchObject({
    'gen_ai.tool.call.arguments': '{"at":"x","apiKey":"***"}',
    'gen_ai.tool.call.result': 'seen',
  });
  expect(named(spans(), 'invoke_agent a')[0]!.attributes['gen_ai.output.messages']).toBe('done');
});

test('what fails says with what, and leaves no span open', async () => {
  const { agent, spans } = setUp([{ text: 'Half ', error: new AgentError('MODEL_SERVER', 'down') }]);
  await expect(agent.call('go')).rejects.toThrow('down');
  expect(spans().map(({ name }) => name)).toEqual(['chat scripted', 'invoke_agent a']);
  expect(spans()[1]!.status).toEqual({ code: SpanStatusCode.ERROR, message: 'down' });
  expect(spans()[1]!.attributes['error.type']).toBe('MODEL_SERVER');

  const other = setUp([{ error: new AgentError('MODEL_SERVER', 'down') }]);
  await other.agent.call('go', { throwOnError: false });
  expect(other.spans().at(-1)!.attributes['error.type']).toBe('MODEL_SERVER');
});

test('a call that waits for an approval, and one whose reader leaves, end their spans', async () => {
  const { agent, spans } = setUp([{ toolCalls: [{ name: 'pay' }] }, { text: 'Half ', hang: true }], { pendingToolRecovery: true });
  await agent.call('go');
  expect(spans().map(({ name }) => name)).toEqual(['chat scripted', 'execute_tool pay', 'invoke_agent a']);
  for await (const { type } of agent.stream('again')) if (type === 'reasoning-chunk') break;
  expect(named(spans(), 'invoke_agent a')).toHaveLength(2);
  expect(named(spans(), 'chat scripted')).toHaveLength(2);
});

test('what a tool does, an agent too, is a child of its span', async () => {
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer('test');
  // A context manager that knows of one context at a time, as one agent does here.
  let now = context.active();
  const within = async <T>(inside: typeof now, act: () => Promise<T>): Promise<T> => {
    const before = now;
    now = inside;
    return act().finally(() => (now = before));
  };
  const extensions = [openTelemetry({ api: { trace, context: { active: () => now, with: within } as never }, tracer })];
  const child = new ReActAgent({ name: 'child', model: new ScriptedModel(['done']), extensions });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'call_child', input: { message: 'go' } }] }, 'done']);
  await new ReActAgent({ name: 'a', model, tools: [agentTool(child, { description: '' })], extensions }).call('go');
  const spans = exporter.getFinishedSpans();
  const parentOf = (name: string) => named(spans, name)[0]!.parentSpanContext?.spanId;
  const idOf = (name: string) => named(spans, name)[0]!.spanContext().spanId;
  expect(parentOf('invoke_agent child')).toBe(idOf('execute_tool call_child'));
  expect(parentOf('execute_tool call_child')).toBe(idOf('invoke_agent a'));
});

test('several agents share one, and a run is a child of what was active', async () => {
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer('test');
  const outer = tracer.startSpan('outer');
  const active = trace.setSpan(context.active(), outer);
  const api = { trace, context: { active: () => active, with: (_inside: unknown, act: () => unknown) => act() } as never };
  const shared = openTelemetry({ api, tracer });
  const agents = ['a', 'b'].map((name) => new ReActAgent({ name, model: new ScriptedModel(['done']), extensions: [shared] }));
  await Promise.all(agents.map((agent) => agent.call('go')));
  const spans = exporter.getFinishedSpans();
  for (const name of ['a', 'b']) {
    const [run] = named(spans, `invoke_agent ${name}`);
    expect(run!.parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
    expect(spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === run!.spanContext().spanId)).toHaveLength(1);
  }
});

test.each([
  undefined,
  {},
  { api: {} },
  { api: { trace } },
  { api: { trace, context }, tracer: {} },
  { api: { trace, context }, content: 'yes' },
])('options %# are refused', (options) => {
  expect(() => openTelemetry(options as never)).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});
