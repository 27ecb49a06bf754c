import { context, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { beforeEach, describe, expect, test } from 'vitest';
import { fakeClock, type FakeClock } from '@test/clock/fake-clock.ts';
import { calls, eventsOf, scriptedAgent } from '@test/support/scripted-agent.ts';
import { mcpTools } from '@isoloop/mcp';
import { openTelemetry } from '../../../packages/core/src/open-telemetry/open-telemetry.ts';
import { metrics } from '../../../packages/core/src/observe/metrics.ts';
import { circuitBreaker } from '../../../packages/core/src/resilience/circuit-breaker.ts';
import { modelTimeout } from '../../../packages/core/src/resilience/model-timeout.ts';
import { retry } from '../../../packages/core/src/resilience/retry.ts';
import { tool } from '../../../packages/core/src/tool/tool.ts';
import { Deadline } from '../../../packages/core/src/wait/deadline.ts';

const hour = 3_600_000;

/** Returns whether `promise` has settled after `ms` milliseconds, and how. */
async function after(clock: FakeClock, promise: Promise<unknown>, ms: number): Promise<unknown> {
  let outcome: unknown = 'pending';
  promise.then(
    (value) => (outcome = value),
    (error: unknown) => (outcome = error),
  );
  await clock.advance(ms);
  return outcome;
}

/** A tool that takes 100 ms, in whose middle the date jumps. */
const slowTool = (clock: FakeClock, jumpMs: number, timeoutMs = 1_000) =>
  tool({
    name: 'slow',
    description: '',
    input: {},
    timeoutMs,
    async execute() {
      await new Promise((resolve) => setTimeout(resolve, 50));
      clock.jumpDate(jumpMs);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return 'done';
    },
  });

describe.each([hour, -hour])('while the date jumps by %i ms', (jumpMs) => {
  let clock: FakeClock;
  beforeEach(() => void (clock = fakeClock({ now: Date.UTC(2026, 0, 1) })));

  test('a run and its measurements last as long as they last, and dates are dates', async () => {
    const measured: [string, number][] = [];
    const { agent } = scriptedAgent([calls('slow'), 'Done.'], {
      tools: [slowTool(clock, jumpMs)],
      use: [
        metrics({
          agentCall: ({ durationMs }) => measured.push(['call', durationMs]),
          modelRequest: ({ durationMs }) => measured.push(['model', durationMs]),
          toolCall: ({ durationMs }) => measured.push(['tool', durationMs]),
        }),
      ],
    });
    const startedAt = Date.now();
    const stream = agent.stream('Hi');
    const events = await clock.advanceUntil(eventsOf(stream), 50);
    expect((await stream.result).durationMs).toBe(100);
    expect(measured).toEqual([
      ['model', 0],
      ['tool', 100],
      ['model', 0],
      ['call', 100],
    ]);
    expect(events.at(-1)!.at).toBe(startedAt + jumpMs + 100);
  });

  test('only `monotonicNow` measures a run whose `now` is injected', async () => {
    const { agent } = scriptedAgent(['Hi.'], { now: () => Date.now() });
    agent.addHook({ on: { 'pre-reasoning': () => clock.jumpDate(jumpMs) } });
    expect((await agent.call('Hi')).durationMs).toBe(0);
    let time = 0;
    const other = scriptedAgent(['Hi.'], { monotonicNow: () => time }).agent;
    other.addHook({ on: { 'pre-reasoning': () => void (time += 7.6) } });
    expect((await other.call('Hi')).durationMs).toBe(8);
  });

  test('the time limit of a call ends it in time', async () => {
    const { agent } = scriptedAgent([calls('slow'), { hang: true }], {
      tools: [slowTool(clock, jumpMs)],
      limits: { timeoutMs: 200 },
    });
    const answer = agent.call('Hi', { throwOnError: false });
    expect(await after(clock, answer, 199)).toBe('pending');
    expect(await after(clock, answer, 1)).toMatchObject({ error: { code: 'CALL_TIMEOUT' } });
  });

  test('a pause of the time limit of a call counts as long as it lasts', async () => {
    const { agent } = scriptedAgent([{ hang: true }], {
      limits: { timeoutMs: 200 },
      use: [
        {
          wrapRequest: async (draft, next, run) => {
            await new Promise((resolve) => setTimeout(resolve, 100));
            clock.jumpDate(jumpMs);
            await run.wait.untimed(() => new Promise((resolve) => setTimeout(resolve, 500)));
            return next(draft);
          },
        },
      ],
    });
    const answer = agent.call('Hi', { throwOnError: false });
    expect(await after(clock, answer, 699)).toBe('pending');
    expect(await after(clock, answer, 1)).toMatchObject({ error: { code: 'CALL_TIMEOUT' } });
  });

  test('the time limit of a tool ends it in time', async () => {
    const { agent } = scriptedAgent([calls('slow'), 'Done.'], {
      tools: [slowTool(clock, jumpMs, 70)],
    });
    const results: unknown[] = [];
    agent.addHook({ on: { 'post-acting': ({ result }) => void results.push(result.state) } });
    const answer = agent.call('Hi');
    await clock.advance(69);
    expect(results).toEqual([]);
    await clock.advance(1);
    expect(results).toEqual(['error']);
    expect((await answer).text).toBe('Done.');
    // The tool ignores its signal.
    await clock.runAll();
  });

  test('circuitBreaker() stays open for its time', async () => {
    const breaker = circuitBreaker({ failures: 1, openMs: 300 });
    const { agent } = scriptedAgent([{ error: new Error('down') }, 'Up.'], { use: [breaker] });
    await agent.call('Hi', { throwOnError: false });
    clock.jumpDate(jumpMs);
    expect(breaker.state).toBe('open');
    await clock.advance(299);
    const refused = await agent.call('Hi', { throwOnError: false });
    expect(refused.error).toMatchObject({ code: 'CIRCUIT_OPEN', details: { retryAfterMs: 1 } });
    await clock.advance(1);
    expect((await agent.call('Hi')).text).toBe('Up.');
  });

  test.each([
    [{ firstDeltaMs: 100 }, { deltas: [[]] }],
    [{ silenceMs: 40 }, { text: 'Half' }],
    [{ totalMs: 100 }, { text: 'Half' }],
  ])('modelTimeout() with %o ends a reply in time', async (limits, output) => {
    const wait = async (): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      clock.jumpDate(jumpMs);
    };
    const { agent } = scriptedAgent([[{ wait, ...output }, { hang: true }]], {
      use: [modelTimeout(limits)],
    });
    const answer = agent.call('Hi', { throwOnError: false });
    expect(await after(clock, answer, 99)).toBe('pending');
    expect(await after(clock, answer, 1)).toMatchObject({ error: { code: 'MODEL_TIMEOUT' } });
  });

  test('a wait before the next attempt lasts as long as it should', async () => {
    const { agent } = scriptedAgent([{ error: { status: 503 } }, 'Up.'], {
      use: [retry({ firstDelayMs: 400, random: () => 1 })],
    });
    const answer = agent.call('Hi');
    await clock.advance(200);
    clock.jumpDate(jumpMs);
    expect(await after(clock, answer, 150)).toBe('pending');
    expect(await clock.advanceUntil(answer)).toMatchObject({ text: 'Up.' });
  });

  test('a Deadline ends its wait in time', async () => {
    const deadline = new Deadline(new AbortController().signal, 100);
    const read = deadline.listen(() => new Promise((resolve) => setTimeout(resolve, 60)));
    await clock.advance(30);
    clock.jumpDate(jumpMs);
    await clock.advance(30);
    await read;
    const silence = deadline.listen(() => new Promise(() => {}));
    clock.jumpDate(jumpMs);
    expect(await after(clock, silence, 39)).toBe('pending');
    expect(await after(clock, silence, 1)).toMatchObject({ code: 'MODEL_TIMEOUT' });
  });

  test('mcpTools() gives up in time', async () => {
    const connecting = mcpTools({
      url: 'http://mcp.test/mcp',
      connectTimeoutMs: 100,
      fetch: () => {
        clock.jumpDate(jumpMs);
        return new Promise(() => {});
      },
    });
    expect(await clock.advanceUntil(connecting.catch((error: unknown) => error))).toMatchObject({
      code: 'MCP_TIMEOUT',
    });
  });

  test('no span of OpenTelemetry ends before it begins, and each one has its duration', async () => {
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    const telemetry = { api: { trace, context }, tracer: provider.getTracer('test') };
    const { agent } = scriptedAgent([calls('slow'), 'Done.'], {
      tools: [slowTool(clock, jumpMs)],
      use: [openTelemetry(telemetry)],
    });
    await clock.advanceUntil(agent.call('Hi'), 50);
    const durations = exporter.getFinishedSpans().map(({ name, duration }) => [name, duration]);
    expect(durations).toEqual([
      ['chat scripted', [0, 0]],
      ['execute_tool slow', [0, 100_000_000]],
      ['chat scripted', [0, 0]],
      ['invoke_agent a', [0, 100_000_000]],
    ]);
  });
});
