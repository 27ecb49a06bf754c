import { beforeEach, expect, test, vi } from 'vitest';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { AgentError } from '../error/agent-error.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { userMessage, textOf } from '../message/msg.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import type { ChatModel, ModelDelta } from '../model/chat-model.ts';
import { eventsOf, scriptedAgent } from '@test/support/scripted-agent.ts';
import { retry, type RetryOptions } from './retry.ts';
import type { RetryInfo } from './retry-delay.ts';
import { wrapModel } from '../model/wrap-model.ts';
import { fakeClock } from '@test/clock/fake-clock.ts';

const busy = (details = {}): AgentError =>
  new AgentError('MODEL_RATE_LIMITED', 'slow down', { retryable: true, details });
const fails: ScriptedReply = { error: busy() };

let delays: number[] = [];
beforeEach(() => void (delays = []));

const options: RetryOptions = { sleep: async (ms) => void delays.push(ms), random: () => 0.5 };

function setUp(replies: readonly ScriptedReply[], more: RetryOptions = {}) {
  const inner = new ScriptedModel(replies);
  return { inner, model: wrapModel(inner, retry({ ...options, ...more })) };
}

async function ask(
  model: ChatModel,
  signal = new AbortController().signal,
): Promise<readonly ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  for await (const some of model.stream({ messages: [userMessage('Hi')], tools: [] }, { signal }))
    deltas.push(...some);
  return deltas;
}

const words = (deltas: readonly ModelDelta[]): string =>
  deltas
    .map((delta) =>
      delta.type === 'reset' ? `<${delta.reason}>` : delta.type === 'text' ? delta.delta : '',
    )
    .join('');

test('retry() repeats a request after a transient failure with growing waits, and readers do not notice', async () => {
  const { inner, model } = setUp([fails, fails, 'Here I am']);
  expect(words(await ask(model))).toBe('Here I am');
  expect(delays).toEqual([1000, 2000]);
  expect(inner.requests).toHaveLength(3);
  expect(inner.requests[2]).toBe(inner.requests[0]);
});

test('the model that retry() returns has the properties of the wrapped model', () => {
  const { model } = setUp([]);
  expect(model).toMatchObject({
    provider: 'scripted',
    modelId: 'scripted',
    features: { tools: true },
  });
});

test('after three attempts the last failure is thrown', async () => {
  const { inner, model } = setUp([fails, fails, { error: busy({ last: true }) }, 'never']);
  await expect(ask(model)).rejects.toMatchObject({
    code: 'MODEL_RATE_LIMITED',
    details: { last: true },
  });
  expect(inner.requests).toHaveLength(3);
});

test('with `firstDelayMs: 0` there is no wait before any attempt, and a retry time of NaN is ignored', async () => {
  let asked = 0;
  const inner = new ScriptedModel([]);
  const model = wrapModel(
    {
      ...inner,
      features: inner.features,
      async *stream() {
        if ((asked += 1) < 1_100) throw busy(asked === 5 ? { retryAfterMs: Number.NaN } : {});
        yield [{ type: 'finish', reason: 'stop' }];
      },
    },
    retry({ ...options, attempts: Infinity, firstDelayMs: 0 }),
  );
  await ask(model);
  expect(delays).toEqual(Array.from({ length: 1_099 }, () => 0));
});

test('random jitter changes a wait by at most a quarter', async () => {
  for (const [random, first, last] of [
    [0, 750, 7_500],
    [0.999999, 1_249, 12_499],
  ] as const) {
    delays = [];
    const { model } = setUp([fails, fails, fails, fails, fails, 'ok'], {
      attempts: 6,
      random: () => random,
    });
    await ask(model);
    expect([delays[0], delays.at(-1)]).toEqual([first, last]);
  }
});

test('waits double up to `maxDelayMs`', async () => {
  const { model } = setUp([fails, fails, fails, fails, fails, fails, 'ok'], { attempts: 7 });
  await ask(model);
  expect(delays).toEqual([1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test.each([
  [0, [750, 1500]],
  [0.999999, [1249, 2499]],
])(
  'with random %d, the jitter of the first waits is at most a quarter',
  async (random, expected) => {
    const { model } = setUp([fails, fails, 'ok'], { random: () => random });
    await ask(model);
    expect(delays).toEqual(expected);
  },
);

test('retry() waits as long as the server says, unless that is longer than `maxRetryAfterMs`', async () => {
  const first = setUp([
    { error: busy({ retryAfterMs: 7000 }) },
    { error: busy({ retryAfterMs: 10 }) },
    'ok',
  ]);
  await ask(first.model);
  expect(delays).toEqual([7000, 2000]);
  const second = setUp([{ error: busy({ retryAfterMs: 60_001 }) }, 'never']);
  await expect(ask(second.model)).rejects.toMatchObject({ details: { retryAfterMs: 60_001 } });
  expect(second.inner.requests).toHaveLength(1);
});

test.each<[string, unknown]>([
  ['a refused request', new AgentError('MODEL_REQUEST', 'HTTP 400')],
  ['a refused key', Object.assign(new Error('x'), { status: 401 })],
  ['a cancellation', new DOMException('timeout', 'AbortError')],
  [
    'an open breaker',
    new AgentError('CIRCUIT_OPEN', 'x', { retryable: true, details: { retryAfterMs: 1 } }),
  ],
  ['a defect', new TypeError('x is not a function')],
])('retry() does not repeat %s', async (_what, error) => {
  const { inner, model } = setUp([{ error }, 'never']);
  await expect(ask(model)).rejects.toBe(error);
  expect(inner.requests).toHaveLength(1);
});

test('errors of other libraries are recognized by their type or message', async () => {
  const { model } = setUp([
    { error: new Error('x', { cause: { status: 503 } }) },
    { error: new TypeError('Failed to fetch') },
    'ok',
  ]);
  expect(words(await ask(model))).toBe('ok');
});

test('`isTransient` decides which errors are retried, but a cancellation is never retried', async () => {
  const isTransient = (): boolean => true;
  const { model } = setUp([{ error: new Error('odd') }, 'ok'], { isTransient });
  expect(words(await ask(model))).toBe('ok');
  const aborted = setUp([{ error: new AgentError('ABORTED', 'x') }, 'never'], { isTransient });
  await expect(ask(aborted.model)).rejects.toMatchObject({ code: 'ABORTED' });
});

test('by default a reply that fails after its first delta is not retried', async () => {
  const { inner, model } = setUp([{ text: 'Half ', error: busy() }, 'never']);
  await expect(ask(model)).rejects.toMatchObject({ code: 'MODEL_RATE_LIMITED' });
  expect(inner.requests).toHaveLength(1);
});

test('with `afterFirstDelta`, a reply that fails after its first delta is retried, and a reset discards its content', async () => {
  const { model } = setUp([{ text: 'Half ', error: busy() }, fails, 'The whole'], {
    afterFirstDelta: true,
  });
  expect(words(await ask(model))).toBe('Half <retry>The whole');
});

test('the usage of failed attempts is added to that of the successful attempt', async () => {
  const usage = { inputTokens: 100, outputTokens: 20 };
  const broken = { deltas: [[{ type: 'finish', reason: 'error', usage }]], error: busy() } as const;
  const replies: ScriptedReply[] = [
    broken,
    broken,
    { text: 'ok', usage: { inputTokens: 1, outputTokens: 1, reasoningTokens: 1 } },
  ];
  const deltas = await ask(setUp(replies, { afterFirstDelta: true }).model);
  const finishes = deltas.flatMap((delta) => (delta.type === 'finish' ? delta.usage : []));
  expect(finishes).toEqual([
    usage,
    { inputTokens: 200, outputTokens: 40 },
    { inputTokens: 201, outputTokens: 41, reasoningTokens: 1 },
  ]);
});

test('`onRetry` gets each retry, and an `onRetry` that throws affects nothing', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const told: RetryInfo[] = [];
  const onRetry = (one: RetryInfo): void => {
    told.push(one);
    throw new Error('listener');
  };
  const { model } = setUp([fails, { error: new Error('HTTP 502') }, 'ok'], { onRetry });
  expect(words(await ask(model))).toBe('ok');
  expect(told).toEqual([
    {
      attempt: 1,
      delayMs: 1000,
      error: expect.objectContaining({ code: 'MODEL_RATE_LIMITED' }),
      target: 'scripted',
    },
    {
      attempt: 2,
      delayMs: 2000,
      error: expect.objectContaining({ code: 'MODEL_SERVER', message: 'HTTP 502' }),
      target: 'scripted',
    },
  ]);
  expect(warn).toHaveBeenCalledTimes(2);
  warn.mockRestore();
});

test('`onRetry` may abort the request', async () => {
  const clock = fakeClock();
  const controller = new AbortController();
  const model = wrapModel(
    new ScriptedModel([fails, 'never']),
    retry({ onRetry: () => controller.abort() }),
  );
  await expect(ask(model, controller.signal)).rejects.toMatchObject({ code: 'ABORTED' });
  expect(clock.pendingTimers()).toBe(0);
});

test('an abort ends the wait before the next attempt and leaves no timer', async () => {
  const clock = fakeClock();
  const controller = new AbortController();
  const inner = new ScriptedModel([fails, 'never']);
  let waiting!: () => void;
  const begun = new Promise<void>((resolve) => (waiting = resolve));
  const asked = ask(wrapModel(inner, retry({ onRetry: () => waiting() })), controller.signal).catch(
    (error: unknown) => error,
  );
  await begun;
  controller.abort(new Error('enough'));
  expect(await asked).toMatchObject({ code: 'ABORTED', message: 'enough' });
  expect(clock.pendingTimers()).toBe(0);
  expect(inner.requests).toHaveLength(1);
});

test('without `sleep`, retry() waits with a platform timer', async () => {
  const clock = fakeClock();
  let waiting!: () => void;
  const begun = new Promise<void>((resolve) => (waiting = resolve));
  const inner = new ScriptedModel([fails, 'ok']);
  const asked = ask(wrapModel(inner, retry({ random: () => 0.5, onRetry: () => waiting() })));
  await begun;
  await Promise.resolve();
  clock.advanceSync(999);
  await Promise.resolve();
  expect(inner.requests).toHaveLength(1);
  clock.advanceSync(1);
  expect(words(await asked)).toBe('ok');
  expect(clock.pendingTimers()).toBe(0);
});

test.each([
  [{ attempts: -1 }, 'attempts'],
  [{ firstDelayMs: '1' }, 'firstDelayMs'],
  [{ maxDelayMs: Number.NaN }, 'maxDelayMs'],
  [{ maxRetryAfterMs: null }, 'maxRetryAfterMs'],
  [{ sleep: 5 }, 'sleep'],
  [{ afterFirstDelta: 'yes' }, 'afterFirstDelta'],
])('retry() rejects the options %o', (bad, field) => {
  expect(() => retry(bad as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(field) }),
  );
});

test('wrapModel() rejects invalid middleware and an invalid model', () => {
  const error = expect.objectContaining({ code: 'CONFIGURATION' });
  expect(() => wrapModel(new ScriptedModel([]), {} as never)).toThrow(error);
  expect(() => wrapModel({} as never)).toThrow(error);
});

const said = (events: readonly AgentEvent[]): string =>
  events
    .map((event) =>
      event.type === 'reasoning-chunk'
        ? event.delta
        : event.type === 'step-reset'
          ? `<${event.reason}>`
          : '',
    )
    .join('');

test('in an agent, retry() stores the whole answer once and a step-reset announces a restart', async () => {
  const { agent } = scriptedAgent([fails, 'One', { text: 'Tw', error: busy() }, 'Two'], {
    use: [retry({ ...options, afterFirstDelta: true })],
  });
  const first = await eventsOf(agent.stream('Hi'));
  expect(said(first)).toBe('One');
  const second = await eventsOf(agent.stream('Hi'));
  expect(said(second)).toBe('Tw<retry>Two');
  expect([...orderFaults(first), ...orderFaults(second)]).toEqual([]);
  expect((await agent.messages()).map(textOf)).toEqual(['Hi', 'One', 'Hi', 'Two']);
});

test.each(['abort', 'interrupt'] as const)(
  'in an agent, an %s ends the wait before the next attempt, and the next call works',
  async (how) => {
    const controller = new AbortController();
    const model = new ScriptedModel([fails, 'Fine']);
    const sleep = (): Promise<never> => {
      if (how === 'abort') controller.abort();
      else agent.interrupt();
      return new Promise(() => {});
    };
    const agent: ReActAgent = new ReActAgent({ name: 'a', model, use: [retry({ sleep })] });
    const result = await agent.call('Hi', { signal: controller.signal });
    expect(result.reason).toBe(how === 'abort' ? 'aborted' : 'interrupted');
    expect(model.requests).toHaveLength(1);
    expect(await agent.call('Again')).toMatchObject({ reason: 'stop', text: 'Fine' });
    expect(historyFaults(await agent.messages())).toEqual([]);
  },
);

test('in an agent, if all attempts fail, the call rejects or returns the error, and the next call works', async () => {
  const { agent } = scriptedAgent([fails, fails, fails, fails, fails, fails, 'Fine'], {
    use: [retry(options)],
  });
  await expect(agent.call('Hi')).rejects.toMatchObject({
    code: 'MODEL_RATE_LIMITED',
    retryable: true,
  });
  expect(await agent.call(undefined, { throwOnError: false })).toMatchObject({
    reason: 'error',
    error: { code: 'MODEL_RATE_LIMITED', retryable: true },
  });
  expect(await agent.call()).toMatchObject({ reason: 'stop', text: 'Fine' });
});

test('in an agent, the result contains the usage of failed attempts', async () => {
  const usage = { inputTokens: 7, outputTokens: 3 };
  const finish: ModelDelta = { type: 'finish', reason: 'error', usage };
  const { agent } = scriptedAgent(
    [
      { deltas: [[finish]], error: busy() },
      { text: 'ok', usage },
    ],
    { use: [retry({ ...options, afterFirstDelta: true })] },
  );
  expect((await agent.call('Hi')).usage).toEqual({ inputTokens: 14, outputTokens: 6 });
});
