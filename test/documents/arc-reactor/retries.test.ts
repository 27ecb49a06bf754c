import { ReActAgent, type JsonValue } from '@isoloop/core';
import { circuitBreaker, fallback, retry } from '@isoloop/core/resilience';
import { arcReactor } from '@isoloop/presets';
import { textStream } from '@isoloop/core/stream';
import { ScriptedModel } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import {
  calls,
  failing,
  linesOf,
  make,
  named,
  returned,
  textsOf,
  withoutWaits,
} from './test-support.ts';
import { fakeClock } from '../../clock/fake-clock.ts';

describe('retries', () => {
  test('wait 1 s, 2 s, 4 s and so on, up to 10 s, each request anew', async () => {
    const waits: number[] = [];
    const busy = Array.from({ length: 5 }, () => failing('503 Service Unavailable'));
    const { agent } = make([...busy, calls('look'), busy[0]!, 'Done.'], {
      tools: [named('look')],
      use: [withoutWaits(waits, 0.5, 6)],
    });
    expect((await agent.call('Look.')).text).toBe('Done.');
    expect(waits).toEqual([1000, 2000, 4000, 8000, 10_000, 1000]);
  });

  test('vary each wait by a quarter, also the longest one', async () => {
    const spread = [];
    for (const random of [0, 0.75]) {
      const waits: number[] = [];
      const busy = Array.from({ length: 6 }, () => failing('Connection reset'));
      const { agent } = make(busy, { use: [withoutWaits(waits, random, 6)] });
      await agent.call('Hi', returned);
      spread.push([Math.round(waits[0]!), Math.round(waits[4]!)]);
    }
    expect(spread).toEqual([
      [750, 7500],
      [1125, 11_250],
    ]);
  });

  test.each([
    ['429 Too Many Requests', 2],
    ['Rate limit exceeded', 2],
    ['Request timed out', 2],
    ['status code: 500', 2],
    ['Bad gateway', 2],
    ['Connection refused', 2],
    ['401 Unauthorized', 1],
    ['Invalid API key', 1],
    ['context length exceeded', 1],
    ['400 Invalid request', 1],
    ['Something strange', 1],
  ])('follow "%s" with request number %i', async (message, requests) => {
    const { agent, model } = make([failing(message), 'Done.'], { use: [withoutWaits()] });
    await agent.call('Hi', returned);
    expect(model.requests).toHaveLength(requests);
  });

  test('never follow a cancellation that the model reports', async () => {
    const cancelled = new DOMException('The request timed out or was canceled.', 'AbortError');
    const { agent, model } = make([{ error: cancelled }, 'Done.'], { use: [withoutWaits()] });
    await agent.call('Hi', returned);
    expect(model.requests).toHaveLength(1);
  });

  test('end at once if the caller cancels while they wait', async () => {
    const clock = fakeClock();
    const { agent, model } = make([failing('503'), 'Late.']);
    const controller = new AbortController();
    const called = agent.call('Hi', { signal: controller.signal });
    await clock.advance(100);
    controller.abort();
    expect((await called).reason).toBe('aborted');
    await clock.advance(20_000);
    expect(model.requests).toHaveLength(1);
  });

  test('end at the time limit of the whole call', async () => {
    const clock = fakeClock();
    const { agent, model } = make([failing('503'), failing('503'), 'Late.'], {
      limits: { timeoutMs: 2000 },
      use: [retry({ random: () => 0.5 })],
    });
    const called = agent.call('Hi', returned);
    await clock.advance(2000);
    const { error, durationMs } = await called;
    expect([error?.code, durationMs]).toEqual(['CALL_TIMEOUT', 2000]);
    expect(model.requests).toHaveLength(2);
  });

  test('repeat only the request, not the tools before it', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make([calls('look'), failing('502'), failing('504'), 'Done.'], {
      tools: [named('look', ran)],
      use: [withoutWaits()],
    });
    expect((await agent.call('Look.')).text).toBe('Done.');
    expect(ran).toHaveLength(1);
    expect(linesOf(model.requests[3])).toEqual(linesOf(model.requests[1]));
  });

  test('reach readers of a stream as one reply, and stop at the first delta', async () => {
    const early = make([failing('503'), 'All good.'], { use: [withoutWaits()] });
    expect(await textsOf(textStream(early.agent.stream('Hi')))).toBe('All good.');
    const late = make([{ text: 'All ', ...failing('503') }, 'All good.'], {
      use: [withoutWaits()],
    });
    const said = textStream(late.agent.stream('Hi'), {
      errors: 'in-band',
      errorText: ({ message }) => `[error] ${message}`,
    });
    expect(await textsOf(said)).toMatch(/^All \s*\[error\] .*503/u);
    expect(late.model.requests).toHaveLength(1);
  });

  test('are one failure for a circuit breaker around them', async () => {
    const breaker = circuitBreaker({ failures: 2 });
    const busy = Array.from({ length: 6 }, () => failing('503'));
    const model = new ScriptedModel(busy);
    const agent = new ReActAgent({
      name: 'assistant',
      model,
      use: [breaker, arcReactor(), withoutWaits()],
    });
    await agent.call('One', returned);
    expect([breaker.state, model.requests.length]).toEqual(['closed', 3]);
    await agent.call('Two', returned);
    expect([breaker.state, model.requests.length]).toEqual(['open', 6]);
    expect((await agent.call('Three', returned)).error?.code).toBe('CIRCUIT_OPEN');
    expect(model.requests).toHaveLength(6);
  });

  test('come before another model is asked', async () => {
    const model = new ScriptedModel([failing('503'), failing('503'), failing('503')]);
    const other = new ScriptedModel(['From the other.']);
    const agent = new ReActAgent({
      name: 'assistant',
      model,
      use: [fallback([other]), arcReactor(), withoutWaits()],
    });
    expect((await agent.call('Hi')).text).toBe('From the other.');
    expect([model.requests.length, other.requests.length]).toEqual([3, 1]);
  });
});
