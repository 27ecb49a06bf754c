import { AsyncLocalStorage } from 'node:async_hooks';
import {
  context,
  ROOT_CONTEXT,
  trace,
  type Context,
  type ContextManager,
} from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { ReActAgent, tool, type ChatModel } from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { fallback, retry } from '@isoloop/core/resilience';
import { openTelemetry } from '@isoloop/core/open-telemetry';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** A context manager like `@opentelemetry/context-async-hooks`. */
class AsyncContext implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();
  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }
  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    inside: Context,
    fn: F,
    self?: ThisParameterType<F>,
    ...args: A
  ) {
    return this.#storage.run(inside, () => fn.apply(self, args));
  }
  bind<T>(_inside: Context, target: T): T {
    return target;
  }
  enable(): this {
    return this;
  }
  disable(): this {
    return this;
  }
}

beforeAll(() => void context.setGlobalContextManager(new AsyncContext()));
afterAll(() => context.disable());

const exporter = new InMemorySpanExporter();
const tracer = new BasicTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(exporter)],
}).getTracer('test');
const traced = openTelemetry({ api: { trace, context }, tracer });

/** Creates a child of the active span, as the instrumentation of a platform does. */
async function request(name: string): Promise<void> {
  const span = tracer.startSpan(name);
  await new Promise((resolve) => setTimeout(resolve));
  span.end();
}

function fetching(replies: readonly ScriptedReply[], modelId: string): ChatModel {
  const model = new ScriptedModel(replies, { modelId });
  const { provider, features } = model;
  return {
    provider,
    modelId,
    features,
    async *stream(asked, options) {
      await request(`POST ${modelId}`);
      yield* model.stream(asked, options);
      await request(`END ${modelId}`);
    },
  };
}

const parentOf = (spans: readonly ReadableSpan[], span: ReadableSpan) =>
  spans.find((other) => other.spanContext().spanId === span.parentSpanContext?.spanId)?.name;

test('openTelemetry() makes requests, parallel tools and parallel agents children of the span in which they run', async () => {
  const busy = Object.assign(new Error('busy'), { status: 503 });
  const one = async (n: number): Promise<void> => {
    const name = `agent${n}`;
    const look = tool({
      name: `look${n}`,
      description: '',
      input: { type: 'object' },
      execute: () => request(`GET ${n}`).then(() => 'seen'),
    });
    const childModel = fetching(['child says'], `child${n}`);
    const child = new ReActAgent({ name: `child${n}`, model: childModel, use: [traced] });
    const first = fetching(
      [{ error: busy }, { error: busy }, { error: busy }, { error: busy }],
      `first${n}`,
    );
    const toolCalls = [
      { name: `look${n}`, id: `a${n}` },
      { name: `call_child${n}`, id: `b${n}`, input: { message: 'go' } },
    ];
    const second = fetching([{ toolCalls }, 'done'], `second${n}`);
    const use = [traced, fallback([second]), retry({ attempts: 2, sleep: async () => {} })];
    const tools = [look, agentTool(child, { description: '' })];
    const agent = new ReActAgent({ name, model: first, tools, use });
    expect(await agent.call('go')).toMatchObject({ text: 'done' });
  };
  await Promise.all([1, 2, 3].map(one));

  const spans = exporter.getFinishedSpans();
  for (const n of [1, 2, 3]) {
    const of = (name: string) =>
      spans.filter((span) => span.name === name).map((span) => parentOf(spans, span));
    expect(of(`invoke_agent agent${n}`)).toEqual([undefined]);
    expect(of(`chat first${n}`)).toEqual([`invoke_agent agent${n}`, `invoke_agent agent${n}`]);
    expect(of(`POST first${n}`)).toEqual(Array.from({ length: 4 }, () => `chat first${n}`));
    expect(of(`POST second${n}`)).toEqual([`chat first${n}`, `chat first${n}`]);
    expect(of(`END second${n}`)).toEqual([`chat first${n}`, `chat first${n}`]);
    expect(of(`execute_tool look${n}`)).toEqual([`invoke_agent agent${n}`]);
    expect(of(`GET ${n}`)).toEqual([`execute_tool look${n}`]);
    expect(of(`invoke_agent child${n}`)).toEqual([`execute_tool call_child${n}`]);
    expect(of(`chat child${n}`)).toEqual([`invoke_agent child${n}`]);
    expect(of(`POST child${n}`)).toEqual([`chat child${n}`]);
  }
  const traces = new Set(spans.map((span) => span.spanContext().traceId));
  expect(traces.size).toBe(3);
});

test('the spans of a stream’s reader are not children of the agent call’s span', async () => {
  exporter.reset();
  const outer = tracer.startSpan('outer');
  await context.with(trace.setSpan(context.active(), outer), async () => {
    const agent = new ReActAgent({
      name: 'a',
      model: fetching(['one two'], 'm'),
      use: [traced],
    });
    for await (const { type } of agent.stream('go'))
      if (type === 'reasoning-chunk') await request('render');
  });
  outer.end();
  const spans = exporter.getFinishedSpans();
  expect(
    spans.filter(({ name }) => name === 'render').map((span) => parentOf(spans, span)),
  ).toEqual(['outer', 'outer']);
  expect(
    spans.filter(({ name }) => name === 'invoke_agent a').map((span) => parentOf(spans, span)),
  ).toEqual(['outer']);
});
