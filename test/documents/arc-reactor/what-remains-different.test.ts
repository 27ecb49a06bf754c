import { AgentError, ReActAgent, textOf, tool, type JsonValue, type Tool } from '@isoloop/core';
import { inputGuard, outputGuards, lengthRule, regexRule, type OutputRule } from '@isoloop/guards';
import { circuitBreaker, fallback } from '@isoloop/core/resilience';
import { arcReactor } from '@isoloop/presets';
import { ScriptedModel, type ScriptedStep } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import {
  calls,
  failing,
  linesOf,
  make,
  named,
  offeredIn,
  resultsIn,
  returned,
  withoutWaits,
} from './test-support.ts';

describe('what remains different', () => {
  const throwing = (): never => {
    throw new Error('No budget.');
  };

  test('a tool is used once, however often it is called', async () => {
    const { agent } = make([calls('look', 'send', 'look'), calls('send'), 'Done.'], {
      tools: [named('look'), named('send')],
    });
    expect((await agent.call('Go.')).toolsUsed).toEqual(['look', 'send']);
  });

  test('a result that is not a text becomes JSON, and a text that says "Error" is a success', async () => {
    const giving = (name: string, value: unknown): Tool =>
      tool({ name, description: name, input: {}, execute: () => value as JsonValue });
    const states: string[] = [];
    const { agent, model } = make([calls('none', 'list', 'text', 'error'), 'Done.'], {
      tools: [
        giving('none', null),
        giving('list', [1]),
        giving('text', 'Error: bad'),
        giving('error', new Error('bad')),
      ],
      use: [{ on: { 'post-acting': ({ result }) => void states.push(result.state) } }],
    });
    await agent.call('Go.');
    expect(resultsIn(model.requests[1])).toEqual(['null', '[1]', 'Error: bad', 'Error: bad']);
    expect(states).toEqual(['success', 'success', 'success', 'error']);
  });

  test('hooks after a tool see refused calls, too', async () => {
    const seen: string[] = [];
    const { agent } = make([calls('send', 'fly', 'look', 'look'), 'Done.'], {
      tools: [named('look'), named('send')],
      limits: { toolCalls: 3 },
      use: [
        {
          on: {
            'pre-acting'({ toolUse, reject }) {
              if (toolUse.name === 'send') reject('No.');
            },
            'post-acting': ({ toolUse, result }) =>
              void seen.push(`${toolUse.name} ${result.state}`),
          },
        },
      ],
    });
    await agent.call('Go.');
    expect(seen.toSorted()).toEqual(['fly error', 'look error', 'look success', 'send denied']);
  });

  test('a blank input fails before the guards', async () => {
    const checked: string[] = [];
    const { agent } = make([], {
      use: [inputGuard('spy', (input) => (checked.push('input'), input))],
    });
    const { reason, error } = await agent.call(' \n\t', returned);
    expect([reason, error?.code, checked]).toEqual(['error', 'INVALID_INPUT', []]);
  });

  test('a hook before a tool that must not fail fails the call, and the next call works', async () => {
    const { agent, model } = make([calls('look'), 'Hello.'], { tools: [named('look')] });
    const remove = agent.addHook({ onError: 'fail', on: { 'pre-acting': throwing } });
    expect((await agent.call('Look.', returned)).error?.code).toBe('HOOK_ERROR');
    remove();
    await agent.call('Hi');
    expect(linesOf(model.requests[1])).toEqual(['user: Hi']);
  });

  test('refused requests do not open a circuit breaker', async () => {
    const breaker = circuitBreaker({ failures: 1 });
    const refused = Object.assign(new Error('Invalid request'), { status: 400 });
    const model = new ScriptedModel([{ error: refused }, 'Done.']);
    const agent = new ReActAgent({ name: 'assistant', model, use: [breaker, arcReactor()] });
    await agent.call('Hi', returned);
    expect(breaker.state).toBe('closed');
  });

  test('other models get the history and the tools, and the last error counts', async () => {
    const model = new ScriptedModel(['Hello.', failing('401 Unauthorized'), failing('401')]);
    const other = new ScriptedModel(['Hello again.', failing('Something strange')]);
    const agent = new ReActAgent({
      name: 'assistant',
      model,
      tools: [named('look')],
      use: [fallback([other]), arcReactor()],
    });
    await agent.call('Hi');
    await agent.call('And now?');
    expect(linesOf(other.requests[0])).toEqual(['user: Hi', 'assistant: Hello.', 'user: And now?']);
    expect(offeredIn(other.requests[0])).toEqual(['look']);
    expect((await agent.call('And now?', returned)).error?.message).toContain('strange');
  });

  test('a server says how long a retry waits', async () => {
    const asking = (retryAfterMs: number): ScriptedStep => ({
      error: new AgentError('MODEL_RATE_LIMITED', 'Busy.', {
        retryable: true,
        details: { retryAfterMs },
      }),
    });
    const waits: number[] = [];
    const use = [withoutWaits(waits)];
    await make([asking(3000), 'Done.'], { use }).agent.call('Hi');
    const { agent, model } = make([asking(60_001), 'Done.'], { use });
    expect((await agent.call('Hi', returned)).error?.code).toBe('MODEL_RATE_LIMITED');
    expect([waits, model.requests.length]).toEqual([[3000], 1]);
  });

  test('options of a command that belong to the agent are refused in a call', async () => {
    const { agent } = make([]);
    for (const name of ['systemPrompt', 'userId', 'sessionId'])
      await expect(agent.call('Hi', { [name]: 'x' })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining(`call() has no option \`${name}\``),
      });
  });

  test('a rejected answer has its category, as every rejection', async () => {
    const categoryOf = async (rule: OutputRule): Promise<unknown> => {
      const { agent } = make(['The code is 1234.'], { use: [outputGuards([rule])] });
      const { reason, error } = await agent.call('The code?');
      return [reason, error?.code, error?.details?.['category']];
    };
    expect(await categoryOf(regexRule({ pattern: /\d{4}/u, action: 'reject' }))).toEqual([
      'rejected',
      'GUARD_REJECTED',
      'OUTPUT_REJECTED',
    ]);
    expect(await categoryOf(lengthRule({ min: 100, tooShort: 'reject' }))).toEqual([
      'rejected',
      'GUARD_REJECTED',
      'OUTPUT_TOO_SHORT',
    ]);
  });

  test('a hook may replace the answer as a response filter does, and its failure changes nothing', async () => {
    const { agent } = make(['A long answer.'], {
      use: [
        { on: { 'post-call': throwing } },
        {
          on: {
            'post-call': (event) => ({
              ...event,
              message: { ...event.message, content: [{ type: 'text', text: 'Short.' }] },
            }),
          },
        },
      ],
    });
    expect((await agent.call('Hi')).text).toBe('Short.');
    expect((await agent.messages()).map(textOf)).toEqual(['Hi', 'Short.']);
  });
});
