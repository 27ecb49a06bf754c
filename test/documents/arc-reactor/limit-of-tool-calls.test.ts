import { toolUsesOf, type JsonValue } from '@isoloop/core';
import type { ScriptedStep } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import { eventsOf } from '../test-support.ts';
import { calls, linesOf, make, named, offeredIn, resultsIn } from './test-support.ts';

const times = (count: number, name: string): ScriptedStep =>
  calls(...Array.from({ length: count }, () => name));

describe('the limit of tool calls', () => {
  test('ends with the tenth tool call even if it is one of several rounds', async () => {
    const { agent, model } = make([times(4, 'look'), times(5, 'look'), times(1, 'look'), 'Done.'], {
      tools: [named('look')],
    });
    const { text } = await agent.call('Look.');
    expect(text).toBe('Done.');
    expect(model.requests.map((request) => request.tools.length)).toEqual([1, 1, 1, 0]);
  });

  test('refuses the eleventh call of one reply and runs the ten before it', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make([times(11, 'look'), 'Done.'], { tools: [named('look', ran)] });
    await agent.call('Look.');
    expect(ran).toHaveLength(10);
    const results = resultsIn(model.requests[1]);
    expect(results.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 'look done'));
    expect(results[10]).toMatch(/limit.*10|10.*limit/iu);
  });

  test('counts calls of unknown tools and calls that a hook rejects', async () => {
    const { agent, model } = make([calls('fly', 'look'), 'Done.'], {
      tools: [named('look')],
      limits: { toolCalls: 2 },
      use: [{ on: { 'pre-acting': (event) => event.reject('Not now.') } }],
    });
    await agent.call('Look.');
    expect(offeredIn(model.requests[1])).toEqual([]);
  });

  test('starts from zero in each call of the agent', async () => {
    const ran: JsonValue[] = [];
    const { agent } = make([times(2, 'look'), 'One.', times(2, 'look'), 'Two.'], {
      tools: [named('look', ran)],
      limits: { toolCalls: 2 },
    });
    await agent.call('Look.');
    await agent.call('Look again.');
    expect(ran).toHaveLength(4);
  });

  test('leaves names of refused calls out of the tools used', async () => {
    const { agent } = make([calls('look', 'send'), 'Done.'], {
      tools: [named('look'), named('send')],
      limits: { toolCalls: 1 },
    });
    expect((await agent.call('Look and send.')).toolsUsed).toEqual(['look']);
  });

  test('drops the calls of the last reply and keeps its text, streaming or not', async () => {
    const replies = [calls('look'), { text: 'Found it.', ...calls('look') }];
    const options = { tools: [named('look')], limits: { toolCalls: 1 } };
    const whole = await make(replies, options).agent.call('Look.');
    const { agent } = make(replies, options);
    const stream = agent.stream('Look.');
    const events = await eventsOf(stream);
    const streamed = await stream.result;
    for (const { text, message } of [whole, streamed]) {
      expect(text).toBe('Found it.');
      expect(toolUsesOf(message)).toEqual([]);
    }
    expect(events.filter(({ type }) => type === 'pre-acting')).toHaveLength(1);
    expect((await agent.messages()).at(-1)).toEqual(streamed.message);
  });

  test('adds the last request without tools to the usage', async () => {
    const usage = { inputTokens: 7, outputTokens: 2 };
    const { agent } = make(
      [
        { ...calls('look'), usage },
        { ...calls('look'), usage },
        { text: 'Done.', usage },
      ],
      { tools: [named('look')], limits: { toolCalls: 2 } },
    );
    expect((await agent.call('Look.')).usage).toMatchObject({ inputTokens: 21, outputTokens: 6 });
  });

  test('gives an answer that later turns see as any other', async () => {
    const { agent, model } = make([calls('look'), 'Half of it.', 'Hello.'], {
      tools: [named('look')],
      limits: { toolCalls: 1 },
    });
    await agent.call('Look.');
    await agent.call('Hi');
    expect(linesOf(model.requests[2])).toEqual([
      'user: Look.',
      'assistant: Half of it.',
      'user: Hi',
    ]);
    expect(offeredIn(model.requests[2])).toEqual(['look']);
  });
});
