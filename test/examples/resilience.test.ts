import { beforeEach, expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { fakeClock } from '../clock/fake-clock.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region resilience
import { AgentError, ReActAgent, tool } from '@isoloop/core';
import {
  circuitBreaker,
  fallback,
  modelTimeout,
  replyCache,
  retry,
  toolRetry,
} from '@isoloop/core/resilience';
// #endregion
// #region resilience-model
import { wrapModel } from '@isoloop/core/model';
// #endregion
// #region reply-cache
// #endregion
// #region concurrency
import { concurrencyLimit, Semaphore } from '@isoloop/core/limits';
// #endregion
// #region tool-retry
// #endregion
// #region text-stream
import { textStream } from '@isoloop/core/stream';
// #endregion
import { classifyError } from '@isoloop/core/error';

const busy = new AgentError('MODEL_RATE_LIMITED', 'Slow down.', {
  retryable: true,
  details: { retryAfterMs: 1 },
});

// The clock runs until the test ends, so that the waits between retries take no real time.
beforeEach(() => {
  const clock = fakeClock();
  clock.advanceUntil(new Promise(() => {})).catch(() => {});
});

test('fallback(), circuitBreaker(), retry() and modelTimeout() protect a model', async () => {
  const model = new ScriptedModel([{ error: busy }, 'Hello.']);
  const other = new ScriptedModel([]);
  const log = vi.spyOn(console, 'log').mockReturnValue();

  // #region resilience
  const breaker = circuitBreaker({
    failures: 5,
    openMs: 30_000,
    onStateChange: ({ to }) => console.log(to),
  }); // share it between agents
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    use: [
      fallback([other]),
      breaker,
      retry({
        onRetry: ({ attempt, delayMs, error }) => console.log(attempt, delayMs, error.code),
      }),
      modelTimeout({ firstDeltaMs: 20_000, totalMs: 120_000 }),
    ],
  });
  const { text } = await agent.call('Hi');
  // #endregion

  expect(text).toBe('Hello.');
  expect(log.mock.calls).toEqual([[1, expect.any(Number), 'MODEL_RATE_LIMITED']]);
  expect(breaker.state).toBe('closed');
  expect(classifyError(new TypeError('Failed to fetch'))).toEqual({
    code: 'MODEL_UNREACHABLE',
    transient: true,
  });

  // #region resilience-model
  const sturdy = wrapModel(
    model,
    retry({ attempts: 5, afterFirstDelta: true }),
    modelTimeout({ silenceMs: 10_000 }),
  );
  // #endregion

  expect(sturdy.modelId).toBe('scripted');
});

test('replyCache() repeats an earlier answer', async () => {
  const model = new ScriptedModel(['Paris.']);
  const log = vi.spyOn(console, 'log').mockReturnValue();

  // #region reply-cache
  const cache = replyCache({
    ttlMs: 600_000,
    scope: (run) => run?.userId, // a reply is only reused for the same user; without a user the cache is off
    onLookup: ({ found, run }) => console.log(found, run?.sessionId), // 'nothing', 'exact' or 'semantic'
  });
  const ask = (sessionId: string) =>
    new ReActAgent({
      name: 'guide',
      model,
      sessionId,
      userId: 'ann',
      use: [cache],
      generate: { temperature: 0 },
    }).call('The capital of France?');
  await ask('monday');
  const { text, usage } = await ask('tuesday'); // no request to the model
  console.assert(usage.inputTokens === 0);
  // #endregion

  expect(text).toBe('Paris.');
  expect(log.mock.calls).toEqual([
    ['nothing', 'monday'],
    ['exact', 'tuesday'],
  ]);
});

test('concurrencyLimit() limits the number of agent calls that run at the same time', async () => {
  const model = new ScriptedModel(['Hello.']);

  // #region concurrency
  const semaphore = new Semaphore(20, { maxWaiting: 100 }); // share it between all agents of this process
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    use: [concurrencyLimit(semaphore)],
    limits: { timeoutMs: 30_000 },
  });
  const { text } = await agent.call('Hi');
  console.assert(semaphore.free === 20 && semaphore.waiting === 0);
  // #endregion

  expect(text).toBe('Hello.');
});

test('toolRetry() retries a tool', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'orders' }] }, 'Two.']);
  const answers = [new Response('', { status: 503 }), new Response('["tea","cups"]')];
  const fetchOrders = async (): Promise<Response> => answers.shift()!;

  // #region tool-retry
  const orders = tool({
    name: 'orders',
    description: 'Lists the orders',
    input: { type: 'object' },
    async execute() {
      const response = await fetchOrders();
      if (response.status === 503)
        throw new AgentError('INTERNAL', 'The shop is busy.', { retryable: true }); // worth a retry
      return response.text();
    },
  });
  const clerk = new ReActAgent({
    name: 'clerk',
    model,
    tools: [orders],
    use: [toolRetry()],
  });
  const { text } = await clerk.call('How many orders?');
  // #endregion

  expect(text).toBe('Two.');
  expect(answers).toEqual([]);
});

test('textStream() streams only the text', async () => {
  const agent = new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel(['One two.', { text: 'Half ', error: busy }]),
  });

  // #region text-stream
  let said = '';
  for await (const text of textStream(agent.stream('Hi'))) said += text;

  const body = textStream(agent.stream('And now?'), { errors: 'in-band' }).readable(); // a stream of UTF-8 bytes
  const response = new Response(body, { headers: { 'content-type': 'text/plain; charset=utf-8' } });
  // #endregion

  expect(said).toBe('One two.');
  expect(await response.text()).toBe('Half \n\n[MODEL_RATE_LIMITED]');
});
