import { jsonMode } from '@isoloop/core/output';
import { describe, expect, test, vi } from 'vitest';
import { echoes, observed, read, said, setUp } from './test-support.ts';

describe('checkAnswers', () => {
  const strict = (reply: string) => {
    if (reply.length < 10) return 'Please provide a more detailed explanation.';
    if (reply.toLowerCase().includes("i don't know")) return 'Try to use available tools.';
    return null;
  };

  test('asks again until the answer is good, and runs tool calls in between', async () => {
    const { model, agent } = setUp(
      ['Yes.', "Really, I don't know.", echoes('x'), 'It is x, as the tool says.'],
      { preset: { reflect: strict } },
    );
    const { text, iterations } = await agent.call('Go.');
    expect([text, iterations]).toEqual(['It is x, as the tool says.', 4]);
    expect(said(model, 3)).toEqual([
      'user: Go.',
      'assistant: Yes.',
      'user: Please provide a more detailed explanation.',
      "assistant: Really, I don't know.",
      'user: Try to use available tools.',
      `assistant: ${echoes('x')}`,
      `user: ${observed('echo', 'x')}`,
    ]);
  });

  test('sees answers without their thinking, and no tool calls', async () => {
    const seen: string[] = [];
    const reflect = (reply: string) => void seen.push(reply);
    const { agent } = setUp([echoes('x'), '<think>Well.</think>\n答えは四です。'], {
      preset: { reflect },
    });
    await agent.call('Go.');
    expect(seen).toEqual(['答えは四です。']);
  });

  test('also checks a JSON answer that the agent call asked for', async () => {
    const reflect = (reply: string) => (reply.includes('0') ? 'Not zero.' : null);
    const { agent } = setUp(['{"n": 0}', '{"n": 1}'], { preset: { reflect } });
    const { output, iterations } = await agent.call('Go.', { output: jsonMode() });
    expect([output, iterations]).toEqual([{ n: 1 }, 2]);
  });

  test('does not check the answer after the last round', async () => {
    const { agent } = setUp(['No.', 'Nope.', 'Short.'], {
      preset: { maxRounds: 2, reflect: strict },
    });
    const { text, reason } = await agent.call('Go.');
    expect([text, reason]).toEqual(['Short.', 'max-iterations']);
  });

  test('does not check a result that is the answer', async () => {
    const reflect = vi.fn(strict);
    const { agent } = setUp([echoes('No.')], { preset: { trustMode: true, reflect } });
    expect((await agent.call('Go.')).text).toBe('No.');
    expect(reflect).not.toHaveBeenCalled();
  });

  test('retracts a refused answer from the readers of a stream', async () => {
    const { agent } = setUp(['Yes.', 'Yes, and here is why.'], { preset: { reflect: strict } });
    const { text, types } = await read(agent.stream('Go.'));
    expect(text).toBe('Yes, and here is why.');
    expect(types.filter((type) => type === 'post-call')).toHaveLength(1);
  });

  test('also checks the answers of a model that calls tools natively', async () => {
    const { agent } = setUp(
      [
        { toolCalls: [{ name: 'echo', input: { text: 'x' } }] },
        '',
        'No.',
        'It is x, says the tool.',
      ],
      { preset: { protocol: false, reflect: strict } },
    );
    const { text, iterations } = await read(agent.stream('Go.')).then(({ result }) => result);
    expect([text, iterations]).toEqual(['It is x, says the tool.', 4]);
  });
});
