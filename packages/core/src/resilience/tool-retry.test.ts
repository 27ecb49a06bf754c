import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import { toolResultsOf } from '../message/msg.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool, type ToolContext } from '../tool/tool.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import type { RetryInfo } from './retry-delay.ts';
import { toolRetry, type ToolRetryOptions } from './tool-retry.ts';

const marked = new AgentError('INTERNAL', 'busy', {
  retryable: true,
  details: { retryAfterMs: 3000 },
});

/** Creates an agent whose tool runs `work` at each attempt. `tries` records the attempts. */
function setUp(
  work: (attempt: number, context: ToolContext) => unknown,
  options: ToolRetryOptions = {},
) {
  const tries: ToolContext[] = [];
  const delays: number[] = [];
  const step = tool({
    name: 'step',
    description: '',
    input: { type: 'object' },
    execute(_input, context) {
      tries.push(context);
      return work(tries.length, context) as string;
    },
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'step' }] }, 'done']);
  const extensions = [
    toolRetry({ sleep: async (ms) => void delays.push(ms), random: () => 0.5, ...options }),
  ];
  const agent = new ReActAgent({ name: 'a', model, tools: [step], use: [...extensions] });
  const outcome = async (): Promise<unknown> => {
    const { text } = await agent.call('Go');
    const messages = await agent.messages();
    expect([text, historyFaults(messages)]).toEqual(['done', []]);
    return messages.flatMap(toolResultsOf).map(({ state, output }) => [state, output]);
  };
  return { agent, tries, delays, outcome };
}

function failing(error: unknown, times: number): (attempt: number) => string {
  return (attempt) => {
    if (attempt <= times) throw error;
    return 'fine';
  };
}

test('toolRetry() repeats a tool after an error marked as retryable, and the model gets only the final result', async () => {
  const told: RetryInfo[] = [];
  const { tries, delays, outcome } = setUp(failing(marked, 2), {
    onRetry: (one) => void told.push(one),
  });
  expect(await outcome()).toEqual([['success', 'fine']]);
  expect(delays).toEqual([3000, 3000]);
  expect(told[0]).toEqual({
    attempt: 1,
    delayMs: 3000,
    error: marked,
    target: 'step',
    run: expect.objectContaining({ agentPath: ['a'] }),
  });
  expect(new Set(tries.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
});

test('after the last attempt, the model gets the error', async () => {
  const { tries, outcome } = setUp(failing(marked, 9));
  expect(await outcome()).toEqual([['error', 'Error: busy']]);
  expect(tries).toHaveLength(3);
});

test('an error that is not marked as retryable is not retried', async () => {
  const { tries, outcome } = setUp(failing(new TypeError('fetch failed'), 1));
  expect(await outcome()).toEqual([['error', 'Error: fetch failed']]);
  expect(tries).toHaveLength(1);
});

test('`isTransient` can decide which errors are retried', async () => {
  const { outcome } = setUp(failing(new TypeError('fetch failed'), 1), {
    isTransient: (error) => error instanceof TypeError,
  });
  expect(await outcome()).toEqual([['success', 'fine']]);
});

test('toolRetry() applies only to the named tools', async () => {
  const { tries, outcome } = setUp(failing(marked, 1), { tools: ['other'] });
  expect(await outcome()).toEqual([['error', 'Error: busy']]);
  expect(tries).toHaveLength(1);
});

test('a tool that suspends is not retried', async () => {
  const { agent, tries } = setUp((_attempt, { suspend }) => suspend('ask Ann'), {
    isTransient: () => true,
  });
  expect(await agent.call('Go')).toMatchObject({
    reason: 'suspended',
    pending: [{ reason: 'ask Ann' }],
  });
  expect(tries).toHaveLength(1);
});

test('an abort ends the wait before the next attempt', async () => {
  const controller = new AbortController();
  const sleep = (): Promise<never> => new Promise(() => controller.abort());
  const { agent, tries } = setUp(failing(marked, 1), { sleep });
  expect(await agent.call('Go', { signal: controller.signal })).toMatchObject({
    reason: 'aborted',
  });
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([{ state: 'interrupted' }]);
  expect(tries).toHaveLength(1);
});

test('an interrupt ends the wait before the next attempt, and the tool does not run again', async () => {
  const sleep = (): Promise<never> => new Promise(() => agent.interrupt('停'));
  const { agent, tries } = setUp(failing(marked, 1), { sleep });
  expect(await agent.call('Go')).toMatchObject({ reason: 'interrupted', text: '停' });
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { state: 'error', output: 'Error: busy' },
  ]);
  expect(tries).toHaveLength(1);
});

test('a tool that interrupts its call and then fails is not retried', async () => {
  const { agent, tries, delays } = setUp((_attempt, { interrupt }) => {
    interrupt();
    throw marked;
  });
  expect(await agent.call('Go')).toMatchObject({ reason: 'interrupted' });
  expect(tries).toHaveLength(1);
  expect(delays).toEqual([]);
});

test('a fatal error still ends the call', async () => {
  const { agent, tries } = setUp(failing(new AgentError('TOOL_ERROR', 'closed'), 9));
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'TOOL_ERROR' });
  expect(tries).toHaveLength(1);
});

test.each([{ tools: 'step' }, { attempts: 'two' }, { isTransient: true }])(
  'toolRetry() rejects the options %o',
  (options) => {
    expect(() => toolRetry(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  },
);
