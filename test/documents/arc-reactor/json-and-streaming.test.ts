import { tool, type AgentResult } from '@isoloop/core';
import { replyCache } from '@isoloop/core/resilience';
import { jsonMode } from '@isoloop/core/output';
import { textStream } from '@isoloop/core/stream';
import { describe, expect, test } from 'vitest';
import { eventsOf } from '../test-support.ts';
import {
  calls,
  failing,
  linesOf,
  make,
  named,
  offeredIn,
  returned,
  textsOf,
  withoutWaits,
} from './test-support.ts';

describe('an answer in JSON', () => {
  test('may be repaired once, and the next turn sees the repaired one', async () => {
    const { agent, model } = make(['Sure!', '```json\n{"a": 1}\n```', 'Hello.']);
    const { output, text } = await agent.call('JSON?', { output: jsonMode() });
    expect(output).toEqual({ a: 1 });
    await agent.call('Hi');
    expect(linesOf(model.requests[2])).toEqual(['user: JSON?', `assistant: ${text}`, 'user: Hi']);
  });

  test('fails the call if the repair is invalid too, and leaves no turn', async () => {
    const { agent, model } = make(['Sure!', 'Sorry!', 'Hello.']);
    const { error } = await agent.call('JSON?', { output: jsonMode(), ...returned });
    expect([error?.code, model.requests.length]).toEqual(['OUTPUT_INVALID', 2]);
    await agent.call('Hi');
    expect(linesOf(model.requests[2])).toEqual(['user: Hi']);
  });

  test('still comes after the last tool call, and may then be repaired without tools', async () => {
    const { agent, model } = make([calls('look'), 'It is one.', '{"a": 1}'], {
      tools: [named('look')],
      limits: { toolCalls: 1 },
    });
    const { output } = await agent.stream('Look.', { output: jsonMode() }).result;
    expect(output).toEqual({ a: 1 });
    expect(model.requests.map(offeredIn)).toEqual([['look'], [], []]);
  });
});

describe('streaming', () => {
  test('gives the same result and the same requests as not streaming', async () => {
    const replies = [
      { text: '보자.', ...calls('look', 'fly') },
      failing('503'),
      calls('look'),
      { text: '끝났다.', ...calls('look') },
    ];
    const options = { tools: [named('look')], limits: { toolCalls: 3 }, now: () => 0 };
    const whole = make(replies, { ...options, use: [withoutWaits()] });
    const parts = make(replies, { ...options, use: [withoutWaits()] });
    const one = await whole.agent.call('봐.');
    const two = await parts.agent.stream('봐.').result;
    const plain = ({ text, reason, usage, toolsUsed, iterations }: AgentResult) => ({
      text,
      reason,
      usage,
      toolsUsed,
      iterations,
    });
    expect(plain(two)).toEqual(plain(one));
    expect(parts.model.requests.map(linesOf)).toEqual(whole.model.requests.map(linesOf));
  });

  test('reads stored replies as it reads others, only for a temperature of 0', async () => {
    const { agent, model } = make(['One.', 'Two.', 'Three.'], {
      use: [
        replyCache(),
        { name: 'successfulTurns' },
        { name: 'lastTurns' },
        {
          wrapRequest: (draft, next) =>
            next({ ...draft, messages: draft.messages.slice(-1), fixedCount: 0 }),
        },
      ],
    });
    const ask = async (temperature?: number): Promise<string> =>
      textsOf(textStream(agent.stream('Hi', temperature === undefined ? {} : { temperature })));
    expect([await ask(), await ask()]).toEqual(['One.', 'Two.']);
    expect([await ask(0), await ask(0)]).toEqual(['Three.', 'Three.']);
    expect(model.requests).toHaveLength(3);
  });

  test('ends a call that is canceled while tools run, and aborts all of them', async () => {
    const signals: AbortSignal[] = [];
    const slow = tool({
      name: 'slow',
      description: 'Waits',
      input: {},
      execute(_input, { signal }) {
        signals.push(signal);
        return new Promise(() => {});
      },
    });
    const { agent, model } = make([calls('slow', 'slow'), 'Hello.'], { tools: [slow] });
    const controller = new AbortController();
    const stream = agent.stream('Wait.', { signal: controller.signal });
    const read = eventsOf(stream);
    await expect.poll(() => signals).toHaveLength(2);
    controller.abort();
    const ended = (await read).at(-1);
    expect(ended).toMatchObject({ type: 'run-end', result: { reason: 'aborted' } });
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
    await agent.call('Hi');
    expect(linesOf(model.requests[1])).toEqual(['user: Hi']);
  });
});
