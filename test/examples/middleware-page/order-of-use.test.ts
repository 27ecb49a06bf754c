import { expect, test, vi } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region order-of-use
import { AgentError, ReActAgent, textOf, tool } from '@isoloop/core';
import { clearToolResults, fitContext, summarizeHistory } from '@isoloop/core/context';
import { injectionGuard, outputGuards, piiGuard, piiRule, rateLimit } from '@isoloop/guards';
import { closeOpenCalls } from '@isoloop/core/approval';
import { concurrencyLimit, modelRequestLimit, Semaphore } from '@isoloop/core/limits';
import { errorHints, reuseResults, todoList } from '@isoloop/core/results';
import { fallback, retry, toolRetry } from '@isoloop/core/resilience';
import { operator } from '@isoloop/core/several';
import { metrics } from '@isoloop/core/observe';
import { selectTools } from '@isoloop/core/selection';
// #endregion
import { fakeClock } from '../../clock/fake-clock.ts';

test('a list of many parts in a good order guards, retries, limits and fits', async () => {
  fakeClock();
  vi.setTimerTickMode('nextTimerAsync'); // the retries wait for a second
  const unreachable = new AgentError('MODEL_UNREACHABLE', 'No network.', { retryable: true });
  const fail = () => {
    throw unreachable;
  };
  const model = new ScriptedModel([
    fail,
    { toolCalls: [{ name: 'clock' }] },
    'It is nine. Write to bob@example.com.',
  ]);
  const small = new ScriptedModel([]);
  let runs = 0;
  const log = vi.spyOn(console, 'log').mockReturnValue();
  const clock = tool({
    name: 'clock',
    description: 'Tells the time.',
    input: { type: 'object', properties: {} },
    execute: () => {
      runs += 1;
      if (runs === 1) throw unreachable;
      return '09:00';
    },
  });
  const tools = [clock];
  const requests: unknown[] = [];
  const recorder = { modelRequest: (metric: unknown) => void requests.push(metric) };

  // #region order-of-use
  const use = [
    concurrencyLimit(new Semaphore(8)), // nothing happens before the call has its place
    metrics(recorder), // counts a request with all its tries once
    rateLimit(),
    injectionGuard(),
    piiGuard(), // input guards, the one that masks last
    operator(),
    closeOpenCalls(),
    outputGuards([piiRule()]), // outside all that may ask another model
    fallback([small]),
    retry(), // each model gets all its tries
    selectTools(),
    toolRetry(),
    errorHints(),
    reuseResults(),
    todoList(), // middleware that adds messages, before the policies that count them
    modelRequestLimit({ run: 10 }),
    clearToolResults(),
    summarizeHistory({ maxTokens: 100_000 }),
    fitContext({ window: 128_000 }), // last: makes each request fit
  ];
  const agent = new ReActAgent({ name: 'assistant', model, tools, use });
  const { text } = await agent.call('I am ann@example.com. What time is it?');
  console.log(text);
  // #endregion

  expect(text).toBe('It is nine. Write to [EMAIL].');
  expect(textOf((await agent.messages())[0]!)).toBe('I am [EMAIL]. What time is it?');
  expect([runs, requests.length]).toEqual([2, 2]);
  model.assertDone();
  log.mockRestore();
});
