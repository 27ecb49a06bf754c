import { tool, type AgentResult } from '@isoloop/core';
import { userErrorText } from '@isoloop/core/error';
import { friendlyErrors } from '@isoloop/presets';
import { describe, expect, test } from 'vitest';
import { calls, failing, linesOf, make, named, returned, withoutWaits } from './test-support.ts';
import { fakeClock } from '../../clock/fake-clock.ts';

describe('failures', () => {
  test.each([
    ['Rate limit exceeded', 'MODEL_RATE_LIMITED'],
    ['Request timeout', 'MODEL_TIMEOUT'],
    ['The maximum context length is 8192 tokens', 'MODEL_CONTEXT_LENGTH'],
    ['Rate limit reached: timeout, context length and tool', 'MODEL_RATE_LIMITED'],
    ['Something strange', 'INTERNAL'],
  ])('with the words "%s" have the code %s, streaming or not', async (message, code) => {
    const replies = [failing(message), failing(message), failing(message)];
    const options = { use: [withoutWaits()] };
    const whole = await make(replies, options).agent.call('Hi', returned);
    const streamed = await make(replies, options).agent.stream('Hi', returned).result;
    expect([whole.error?.code, streamed.error?.code]).toEqual([code, code]);
    expect(whole.reason).toBe('error');
  });

  test('have a message for the user that does not quote them', async () => {
    const said = { messages: { MODEL_RATE_LIMITED: '잠시 후 다시 시도해 주세요.' } };
    const { agent } = make(
      Array.from({ length: 3 }, () => failing('429 for key sk-1')),
      {
        use: [friendlyErrors((error) => userErrorText(error, said)), withoutWaits()],
      },
    );
    expect((await agent.call('Hi', returned)).text).toBe('잠시 후 다시 시도해 주세요.');
  });

  test('reach the hooks at the end of the call, too', async () => {
    const ends: (AgentResult['reason'] | undefined)[] = [];
    const { agent } = make([failing('Strange')], {
      use: [{ on: { 'run-end': ({ result }) => void ends.push(result.reason) } }],
    });
    await expect(agent.call('Hi')).rejects.toThrow('Strange');
    expect(ends).toEqual(['error']);
  });

  test('after tools leave no turn that later requests show', async () => {
    const { agent, model } = make([calls('look'), failing('Strange'), 'Hello.'], {
      tools: [named('look')],
    });
    await agent.call('Look.', returned);
    await agent.call('Hi');
    expect(linesOf(model.requests[2])).toEqual(['user: Hi']);
  });

  test('by the time limit abort the running tools and leave no turn', async () => {
    const clock = fakeClock();
    let signal: AbortSignal | undefined;
    const slow = tool({
      name: 'slow',
      description: 'Waits',
      input: {},
      timeoutMs: 60_000,
      execute(_input, context) {
        signal = context.signal;
        return new Promise(() => {});
      },
    });
    const { agent, model } = make([calls('slow'), 'Hello.'], { tools: [slow] });
    const called = agent.call('Wait.', returned);
    await clock.advance(30_000);
    expect((await called).error?.code).toBe('CALL_TIMEOUT');
    expect(signal?.aborted).toBe(true);
    await agent.call('Hi');
    expect(linesOf(model.requests[1])).toEqual(['user: Hi']);
  });
});
