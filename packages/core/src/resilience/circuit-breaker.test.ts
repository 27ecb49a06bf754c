import { expect, test, vi } from 'vitest';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { AgentError } from '../error/agent-error.ts';
import { outputGuards, regexRule } from '@isoloop/guards';
import { userMessage } from '../message/msg.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import type { ChatModel } from '../model/chat-model.ts';
import { gate } from '@test/support/scripted-agent.ts';
import {
  circuitBreaker,
  type CircuitBreakerOptions,
  type CircuitChange,
} from './circuit-breaker.ts';
import { retry } from './retry.ts';
import { wrapModel } from '../model/wrap-model.ts';

const error = new AgentError('MODEL_SERVER', 'down', { retryable: true });
const fails: ScriptedReply = { error };
const open = { code: 'CIRCUIT_OPEN', retryable: true };

function setUp(replies: readonly ScriptedReply[], options: CircuitBreakerOptions = {}) {
  const clock = { now: 0 };
  const changes: CircuitChange[] = [];
  const breaker = circuitBreaker({
    failures: 2,
    now: () => clock.now,
    onStateChange: (change) => void changes.push(change),
    ...options,
  });
  const inner = new ScriptedModel(replies);
  return { clock, changes, breaker, inner, model: wrapModel(inner, breaker) };
}

async function ask(model: ChatModel, signal = new AbortController().signal): Promise<string> {
  let text = '';
  for await (const deltas of model.stream(
    { messages: [userMessage('Hi')], tools: [] },
    { signal },
  )) {
    for (const delta of deltas) if (delta.type === 'text') text += delta.delta;
  }
  return text;
}

const code = (asked: Promise<string>): Promise<unknown> =>
  asked.catch((thrown: AgentError) => thrown.code);

test('consecutive failures open the breaker, and one successful trial after `openMs` closes it', async () => {
  const { clock, changes, breaker, inner, model } = setUp([fails, fails, 'Back', 'Fine']);
  expect([await code(ask(model)), breaker.state]).toEqual(['MODEL_SERVER', 'closed']);
  expect([await code(ask(model)), breaker.state]).toEqual(['MODEL_SERVER', 'open']);
  clock.now = 10_000;
  await expect(ask(model)).rejects.toMatchObject({ ...open, details: { retryAfterMs: 20_000 } });
  expect(inner.requests).toHaveLength(2);
  clock.now = 30_000;
  expect(breaker.state).toBe('half-open');
  expect([await ask(model), breaker.state, await ask(model)]).toEqual(['Back', 'closed', 'Fine']);
  expect(changes).toEqual([
    { from: 'closed', to: 'open', error },
    { from: 'open', to: 'half-open' },
    { from: 'half-open', to: 'closed' },
  ]);
});

test('by default the breaker opens after five failures', async () => {
  const model = wrapModel(new ScriptedModel([fails, fails, fails, fails, fails]), circuitBreaker());
  for (let count = 0; count < 5; count += 1) expect(await code(ask(model))).toBe('MODEL_SERVER');
  expect(await code(ask(model))).toBe('CIRCUIT_OPEN');
});

test('replies that an output guard rejects do not open the breaker', async () => {
  const { breaker, inner } = setUp(['secret', 'secret', 'fine']);
  const guards = outputGuards([regexRule({ pattern: /secret/, action: 'reject' })]);
  const agent = new ReActAgent({ name: 'a', model: inner, use: [breaker, guards] });
  const reasons: string[] = [];
  for (let n = 0; n < 3; n += 1) reasons.push((await agent.call('Hi')).reason);
  expect([reasons, breaker.state]).toEqual([['rejected', 'rejected', 'stop'], 'closed']);
});

test('a success restarts the count of failures', async () => {
  const { breaker, model } = setUp([fails, 'ok', fails, 'ok', fails, fails]);
  for (let count = 0; count < 5; count += 1) await code(ask(model));
  expect(breaker.state).toBe('closed');
  await code(ask(model));
  expect(breaker.state).toBe('open');
});

test('a failed trial opens the breaker for the full time again', async () => {
  const { clock, breaker, model } = setUp([fails, fails, fails]);
  await code(ask(model));
  await code(ask(model));
  clock.now = 30_000;
  expect([await code(ask(model)), breaker.state]).toEqual(['MODEL_SERVER', 'open']);
  clock.now = 59_999;
  await expect(ask(model)).rejects.toMatchObject({ ...open, details: { retryAfterMs: 1 } });
});

test.each<[string, unknown]>([
  ['a cancellation', new DOMException('x', 'AbortError')],
  ['a refused key', new AgentError('MODEL_AUTH', 'x')],
  ['a refused request', Object.assign(new Error('x'), { status: 400 })],
  ['a request that is too long', new AgentError('MODEL_CONTEXT_LENGTH', 'x')],
])('%s counts neither as a failure nor as a success', async (_what, other) => {
  const { breaker, model } = setUp([fails, { error: other }, { error: other }, fails]);
  for (let count = 0; count < 3; count += 1) await code(ask(model));
  expect(breaker.state).toBe('closed');
  await code(ask(model));
  expect(breaker.state).toBe('open');
});

test.each<[string, unknown]>([
  ['a rate limit', new AgentError('MODEL_RATE_LIMITED', 'x', { retryable: true })],
  ['an unknown error', new Error('odd')],
])('%s counts as a failure', async (_what, other) => {
  const { breaker, model } = setUp([{ error: other }, { error: other }]);
  await code(ask(model));
  await code(ask(model));
  expect(breaker.state).toBe('open');
});

/** Starts a request. Resolves after the model was called. */
async function begin(
  inner: ScriptedModel,
  model: ChatModel,
  signal?: AbortSignal,
): Promise<{ readonly end: Promise<unknown> }> {
  const before = inner.requests.length;
  const end = code(ask(model, signal));
  while (inner.requests.length === before) await Promise.resolve();
  return { end };
}

test('a half-open breaker accepts one request at a time, and closes if it succeeds', async () => {
  const first = gate();
  const { clock, breaker, inner, model } = setUp([
    fails,
    fails,
    [{ wait: first.wait }, { text: 'a' }],
  ]);
  await code(ask(model));
  await code(ask(model));
  clock.now = 30_000;
  const one = await begin(inner, model);
  await expect(ask(model)).rejects.toMatchObject({ ...open, details: { retryAfterMs: 30_000 } });
  first.open();
  expect([await one.end, breaker.state]).toEqual(['a', 'closed']);
});

test('an aborted trial does not change the state, and the next request is the trial, even if the model hangs', async () => {
  const hangs: ChatModel = {
    provider: 'x',
    modelId: 'x',
    features: { tools: true, media: [] },
    stream: () => ({
      [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }),
    }),
  };
  const { clock, breaker, inner, model } = setUp([fails, fails, 'Back']);
  await code(ask(model));
  await code(ask(model));
  clock.now = 30_000;
  const controller = new AbortController();
  void ask(wrapModel(hangs, breaker), controller.signal);
  expect(await code(ask(model))).toBe('CIRCUIT_OPEN');
  controller.abort();
  expect([await ask(model), breaker.state]).toEqual(['Back', 'closed']);
  expect(inner.requests).toHaveLength(3);
});

test('a request that was aborted before it began does not change the state, whatever the abort reason', async () => {
  const { breaker, model } = setUp(['never', 'never', 'never'], { failures: 1 });
  await expect(ask(model, AbortSignal.abort(new Error('HTTP 500')))).rejects.toThrow('HTTP 500');
  expect(breaker.state).toBe('closed');
});

test('if the reader of a trial leaves, the next request is the trial', async () => {
  const { clock, breaker, model } = setUp([fails, fails, 'a b c', 'Back']);
  await code(ask(model));
  await code(ask(model));
  clock.now = 30_000;
  const { signal } = new AbortController();
  for await (const _deltas of model.stream({ messages: [], tools: [] }, { signal })) break;
  expect(breaker.state).toBe('half-open');
  expect([await ask(model), breaker.state]).toEqual(['Back', 'closed']);
});

test('requests that began before a state change do not affect the new state', async () => {
  const late = gate();
  const slow = { wait: late.wait };
  const { clock, breaker, inner, model } = setUp([
    [slow, { text: 'late' }],
    [slow, { error }],
    fails,
    fails,
  ]);
  const well = await begin(inner, model);
  const badly = await begin(inner, model);
  await code(ask(model));
  await code(ask(model));
  clock.now = 30_000;
  late.open();
  expect([await well.end, await badly.end, breaker.state]).toEqual([
    'late',
    'MODEL_SERVER',
    'half-open',
  ]);
});

test('circuitBreaker() outside of retry() counts all attempts of a request once', async () => {
  const sleep = async (): Promise<void> => {};
  const { breaker, inner } = setUp([fails, fails, fails, fails, fails, fails, 'never']);
  const model = wrapModel(inner, breaker, retry({ sleep }));
  expect([await code(ask(model)), breaker.state]).toEqual(['MODEL_SERVER', 'closed']);
  expect([await code(ask(model)), breaker.state]).toEqual(['MODEL_SERVER', 'open']);
  expect(inner.requests).toHaveLength(6);
  expect(await code(ask(model))).toBe('CIRCUIT_OPEN');
});

test('agents can share one breaker, and reset() closes it', async () => {
  const { breaker, changes, inner } = setUp([fails, fails, 'Back']);
  const agents = ['a', 'b'].map((name) => new ReActAgent({ name, model: inner, use: [breaker] }));
  for (const agent of agents)
    await expect(agent.call('Hi')).rejects.toMatchObject({ code: 'MODEL_SERVER' });
  for (const agent of agents)
    expect(await agent.call(undefined, { throwOnError: false })).toMatchObject({ error: open });
  breaker.reset();
  breaker.reset();
  expect(changes.map(({ to }) => to)).toEqual(['open', 'closed']);
  expect(await agents[0]!.call()).toMatchObject({ text: 'Back' });
});

test('an `onStateChange` that throws affects no request', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const { model } = setUp([fails, fails], {
    onStateChange: () => {
      throw new Error('listener');
    },
  });
  await code(ask(model));
  expect(await code(ask(model))).toBe('MODEL_SERVER');
  expect(warn).toHaveBeenCalledOnce();
  warn.mockRestore();
});

test.each([{ failures: -1 }, { openMs: 'long' }, { now: 5 }, { onStateChange: {} }])(
  'circuitBreaker() rejects the options %o',
  (options) => {
    expect(() => circuitBreaker(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  },
);
