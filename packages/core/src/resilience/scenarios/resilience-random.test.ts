import { closeOpenCalls } from '../../approval/close-open-calls.ts';
import type { Span, Tracer } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { seeds } from '@test/test-extent.ts';
import { AgentError } from '../../error/agent-error.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import { textOf } from '../../message/msg.ts';
import {
  addUsage,
  noUsage,
  type ChatModel,
  type ModelDelta,
  type Usage,
} from '../../model/chat-model.ts';
import { circuitBreaker } from '../circuit-breaker.ts';
import { fallback } from '../fallback.ts';
import { modelTimeout } from '../model-timeout.ts';
import { replyCache } from '../reply-cache.ts';
import { retry } from '../retry.ts';
import { toolRetry } from '../tool-retry.ts';
import { wrapModel } from '../../model/wrap-model.ts';
import { textStream } from '../../stream/text-stream.ts';
import { historyFaults, requestFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { randomOf } from '@test/random-of.ts';
import {
  ScriptedModel,
  type ScriptedReply,
  type ScriptedStep,
} from '../../testing/scripted-model.ts';
import { tool } from '../../tool/tool.ts';
import { concurrencyLimit } from '../../limits/concurrency-limit.ts';
import { Semaphore } from '../../limits/semaphore.ts';
import { metrics, type AgentCallMetric, type ModelMetric } from '../../observe/metrics.ts';
import { openTelemetry } from '../../open-telemetry/open-telemetry.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';

const errors: readonly unknown[] = [
  new AgentError('MODEL_RATE_LIMITED', 'slow down', {
    retryable: true,
    details: { retryAfterMs: 5 },
  }),
  new AgentError('MODEL_SERVER', 'down', { retryable: true }),
  new AgentError('MODEL_REQUEST', 'no'),
  new TypeError('fetch failed'),
  new Error('odd'),
];

/**
 * Creates models that fail at any point of a reply, and agents with a random choice of resilience
 * middleware.
 */
function world(seed: number) {
  const random = randomOf(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const chance = (odds: number): boolean => random() < odds;
  const pause = async (most = 10): Promise<void> => {
    for (let tick = below(most); tick > 0; tick -= 1) await Promise.resolve();
  };
  const error = (): unknown => errors[below(errors.length)];
  const usageOf = (): Usage => ({ inputTokens: 1 + below(9), outputTokens: 1 + below(9) });
  const finish = (): ModelDelta => ({ type: 'finish', reason: 'stop', usage: usageOf() });
  let calls = 0;
  const reply: ScriptedReply = ({ tools }) => {
    const steps: ScriptedStep[] = [{ wait: () => pause() }];
    if (chance(0.3)) steps.push({ error: error() });
    if (chance(0.3)) steps.push({ thinking: 'hm hm ' });
    if (chance(0.8)) steps.push({ text: `said ${calls} ` }, { wait: () => pause() });
    if (chance(0.3)) steps.push({ error: error() });
    if (tools.length && chance(0.4)) {
      const call = (index: number): ModelDelta => ({
        type: 'tool-input',
        index,
        id: `c${(calls += 1)}`,
        name: 'step',
        delta: '{}',
      });
      steps.push({ deltas: [[call(0)], ...(chance(0.5) ? [[call(1)]] : [])] });
    } else steps.push({ text: 'and done' });
    if (chance(0.4)) steps.push({ deltas: [[finish()]], error: error() });
    return [...steps, { deltas: [[finish()]] }];
  };
  const models = ['a', 'b'].map(
    (modelId) =>
      new ScriptedModel(
        Array.from({ length: 300 }, () => reply),
        { modelId },
      ),
  );
  const reported: Usage[] = [];
  const whole: string[] = [];
  const listened = models.map((model): ChatModel => {
    const { provider, modelId, features } = model;
    return {
      provider,
      modelId,
      features,
      async *stream(request, context) {
        let said = '';
        for await (const deltas of model.stream(request, context)) {
          for (const delta of deltas) {
            if (delta.type === 'finish' && delta.usage) reported.push(delta.usage);
            if (delta.type === 'text') said += delta.delta;
          }
          yield deltas;
        }
        whole.push(said);
      },
    };
  });
  const clock = { now: 0 };
  const sleep = async (ms: number): Promise<void> => {
    clock.now += ms;
    await pause();
  };
  const again = retry({ sleep, random, afterFirstDelta: chance(0.7), attempts: 1 + below(4) });
  const breaker = circuitBreaker({ failures: 2, openMs: 2000, now: () => clock.now });
  const other = wrapModel(listened[1]!, ...(chance(0.5) ? [again] : []));
  const around = [
    fallback([other], { afterFirstDelta: chance(0.7) }),
    breaker,
    again,
    modelTimeout({ totalMs: 1e9, now: () => 0 }),
  ];
  const step = tool({
    name: 'step',
    description: '',
    input: { type: 'object' },
    async execute() {
      await pause();
      if (chance(0.3)) throw new AgentError('INTERNAL', 'busy', { retryable: true });
      return 'stepped';
    },
  });
  const semaphore = new Semaphore(1);
  const measured: (AgentCallMetric | ModelMetric)[] = [];
  const record = (metric: AgentCallMetric | ModelMetric): void => void measured.push(metric);
  const observed = metrics({ agentCall: record, modelRequest: record });
  const spans: { readonly name: string; ends: number }[] = [];
  const traced = openTelemetry({
    api: { trace: { setSpan: () => ({}) }, context } as never,
    tracer: tracerOf(spans),
  });
  const watching = chance(0.5) ? [observed, traced] : [traced, observed];
  const cache = replyCache({ maxTemperature: Infinity, now: () => 0 });
  const middle = [cache, ...around].filter(() => chance(0.7));
  const extensions = [
    ...watching,
    concurrencyLimit(semaphore),
    ...middle,
    toolRetry({ sleep, random }),
  ];
  const agents = [0, 1].map(
    () =>
      new ReActAgent({
        name: 'x',
        model: listened[0]!,
        tools: [step],
        use: [...extensions, closeOpenCalls()],
        limits: { iterations: 4 },
      }),
  );
  return { below, chance, pause, models, reported, whole, agents, semaphore, measured, spans };
}

const context = { active: () => ({}), with: (_inside: unknown, act: () => unknown) => act() };

function tracerOf(spans: { readonly name: string; ends: number }[]): Tracer {
  const startSpan = (name: string): Span => {
    const about = { name, ends: 0 };
    spans.push(about);
    const nothing = (): void => {};
    const end = (): void => void (about.ends += 1);
    return {
      setAttribute: nothing,
      setAttributes: nothing,
      setStatus: nothing,
      addEvent: nothing,
      end,
    } as never;
  };
  return { startSpan } as never;
}

/**
 * Returns the text on a reader’s screen: the text since the last reset, of the last message only.
 */
function shown(events: readonly AgentEvent[]): string {
  let text = '';
  let message = '';
  for (const event of events) {
    if (
      event.type === 'pre-reasoning' ||
      event.type === 'pre-summary' ||
      event.type === 'step-reset'
    )
      text = '';
    if (
      (event.type !== 'reasoning-chunk' || event.kind !== 'text') &&
      event.type !== 'summary-chunk'
    )
      continue;
    const of = event.blockId.slice(0, event.blockId.lastIndexOf(':'));
    text = of === message ? text + event.delta : event.delta;
    message = of;
  }
  return text;
}

test.for(seeds({ quick: 60, full: 300 }))(
  'resilience middleware keeps events, log, usage and metrics correct, whatever fails: seed %i',
  async (seed) => {
    const { below, chance, pause, models, reported, whole, agents, semaphore, measured, spans } =
      world(seed);
    const [agent, rival] = agents as [ReActAgent, ReActAgent];
    for (let turn = 0; turn < 3; turn += 1) {
      const events: AgentEvent[] = [];
      const controller = new AbortController();
      const before = reported.length;
      const busy = chance(0.3) && semaphore.free ? await semaphore.acquire() : undefined;
      const stream = agent.stream('go', { signal: controller.signal, throwOnError: chance(0.5) });
      const how = below(6);
      if (how === 0) void pause(200).then(() => controller.abort());
      if (how === 1) void pause(200).then(() => agent.interrupt());
      void pause(50).then(busy);
      const reading = (async () => {
        for await (const event of stream) events.push(event);
      })();
      await reading.catch(() => {});
      const last = events.at(-1);
      if (last?.type !== 'run-end') throw new Error(`seed ${seed}: the run has no end`);
      const { result } = last;
      const at = `seed ${seed}, turn ${turn}, ${result.reason}`;
      expect([at, ...orderFaults(events)]).toEqual([at]);
      const messages = await agent.messages();
      expect([at, ...historyFaults(messages)]).toEqual([at]);
      for (const { requests } of models)
        for (const request of requests)
          expect([at, ...requestFaults(request.messages)]).toEqual([at]);
      // The log has one complete reply of one model, and the screen shows the same text.
      const { cached } = result.message.metadata ?? {};
      const said = cached ? whole.find((text) => text === result.text) : whole.at(-1);
      if (result.reason === 'stop')
        expect([at, result.text, shown(events)]).toEqual([at, said, textOf(result.message)]);
      if (/stop|error|max/.test(result.reason)) {
        expect([at, result.usage]).toEqual([at, reported.slice(before).reduce(addUsage, noUsage)]);
      }
      expect([at, semaphore.free, semaphore.waiting]).toEqual([at, 1, 0]);
      // Each call and each request is measured once, with its run id, and each span ends once.
      const own = measured.splice(0);
      expect([at, ...own.map(({ runId }) => runId)]).toEqual([at, ...own.map(() => last.runId)]);
      expect([at, own.filter((metric) => 'reason' in metric).length]).toEqual([at, 1]);
      const ended = spans.splice(0);
      expect([at, ...ended.map(({ ends }) => ends)]).toEqual([at, ...ended.map(() => 1)]);
      const chats = ended.filter(({ name }) => name.startsWith('chat')).length;
      expect([at, own.filter((metric) => 'modelId' in metric).length]).toEqual([at, chats]);
    }
    let said = '';
    for await (const text of textStream(rival.stream('go'), { errors: 'in-band' })) said += text;
    const answer = textOf((await rival.messages()).at(-1)!);
    const failed = /\[[A-Z_]+\]$/.test(said);
    if (!failed) expect([seed, said.endsWith(answer)]).toEqual([seed, true]);
  },
);
