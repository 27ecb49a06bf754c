import {
  assistantMessage,
  InMemoryMemory,
  tool,
  userMessage,
  type AgentEvent,
  type ModelRequest,
} from '@isoloop/core';
import { jsonMode } from '@isoloop/core/output';
import { arc, estimateTokens } from '@isoloop/core/tokens';
import { describe, expect, test } from 'vitest';
import { systemOf } from '../test-support.ts';
import { rolesOf } from '../../roles-of.ts';
import { calls, latin, linesOf, make, named, trimTo, turns, type Options } from './test-support.ts';

/** `tokens` tokens of Hangul: three letters are two tokens. */
const hangul = (tokens: number): string => '가'.repeat((tokens * 3) / 2);

describe('trimming', () => {
  test('keeps a request that is exactly as long as the budget', async () => {
    const history = [userMessage(latin(100)), assistantMessage(hangul(100))];
    for (const [prompt, kept] of [
      [50, 3],
      [51, 2],
    ] as const) {
      const { agent, model } = make(['Done.'], {
        memory: new InMemoryMemory(history),
        use: [trimTo(250)],
      });
      await agent.call(latin(prompt));
      expect(linesOf(model.requests[0])).toHaveLength(kept);
    }
  });

  test('counts the system prompt, but neither the tools nor their descriptions', async () => {
    const history = [userMessage(latin(40)), assistantMessage(latin(40))];
    const request = async (options: Options): Promise<ModelRequest | undefined> => {
      const { agent, model } = make(['Done.'], {
        memory: new InMemoryMemory(history),
        use: [trimTo(100)],
        ...options,
      });
      await agent.call(latin(20));
      return model.requests[0];
    };
    const described = await request({ tools: [named('look', [], latin(90))] });
    expect(linesOf(described)).toHaveLength(3);
    const prompted = await request({ systemPrompt: latin(1) });
    expect(linesOf(prompted)).toHaveLength(2);
    expect(systemOf(prompted)).toEqual([latin(1)]);
  });

  test('counts the system prompt and the format of the answer as one text', async () => {
    const output = jsonMode();
    for (const rest of ['', 'a', 'aa', 'aaa']) {
      const systemPrompt = latin(2) + rest;
      const request = async (window: number): Promise<ModelRequest> => {
        const { agent, model } = make(['{}'], {
          memory: new InMemoryMemory([userMessage(latin(40)), assistantMessage(latin(40))]),
          use: [trimTo(window)],
          systemPrompt,
        });
        await agent.call(latin(20), { output });
        return model.requests[0]!;
      };
      const [whole] = systemOf(await request(10_000));
      const tokens = estimateTokens(whole!, arc) + 100;
      const exact = await request(tokens);
      expect(linesOf(exact)).toHaveLength(3);
      const shorter = await request(tokens - 1);
      expect(linesOf(shorter)).toHaveLength(2);
      expect(systemOf(shorter)).toEqual([whole]);
    }
  });

  test('removes messages before the current prompt from the front, and stops at it', async () => {
    const history = ['one', 'two', 'three'].flatMap((name) => [
      userMessage(`${name} ${latin(24)}`),
      assistantMessage(latin(25)),
    ]);
    const { agent, model } = make(['Done.', 'Done.'], {
      memory: new InMemoryMemory(history),
      use: [trimTo(60)],
    });
    await agent.call(latin(20));
    expect(linesOf(model.requests[0])).toEqual([`assistant: ${latin(25)}`, `user: ${latin(20)}`]);
    await agent.call(latin(70));
    expect(linesOf(model.requests[1])).toEqual([`user: ${latin(70)}`]);
  });

  test('then removes the oldest calls of the turn, each with its result', async () => {
    const big = tool({
      name: 'big',
      description: 'Much',
      input: {},
      execute: (_input, { toolUseId }) => toolUseId + latin(40).slice(toolUseId.length),
    });
    const { agent, model } = make([calls('big'), calls('big'), calls('big'), 'Done.'], {
      tools: [big],
      memory: new InMemoryMemory(turns(2)),
      use: [trimTo(92)],
    });
    await agent.call(latin(10));
    expect(linesOf(model.requests[2])).toEqual([
      `user: ${latin(10)}`,
      'assistant: big()',
      expect.stringMatching(/^tool: call_1/u),
      'assistant: big()',
      expect.stringMatching(/^tool: call_2/u),
    ]);
    expect(linesOf(model.requests[3])).toEqual([
      `user: ${latin(10)}`,
      'assistant: big()',
      expect.stringMatching(/^tool: call_2/u),
      'assistant: big()',
      expect.stringMatching(/^tool: call_3/u),
    ]);
  });

  test('removes even the newest result if it does not fit, and the log keeps it', async () => {
    const big = tool({ name: 'big', description: 'Much', input: {}, execute: () => latin(200) });
    const { agent, model } = make([calls('big'), 'Done.'], { tools: [big], use: [trimTo(100)] });
    const fitted: AgentEvent[] = [];
    agent.addHook({ on: { 'context-fitted': (event) => void fitted.push(event) } });
    await agent.call('Read.');
    expect(linesOf(model.requests[1])).toEqual(['user: Read.']);
    expect(rolesOf(await agent.messages())).toBe('user assistant tool assistant');
    expect(fitted).toMatchObject([{ removed: 2, before: 202, after: 1 }]);
  });

  test('leaves only the prompt if the system prompt takes the whole budget', async () => {
    const { agent, model } = make([calls('look'), 'Done.'], {
      tools: [named('look')],
      memory: new InMemoryMemory(turns(2)),
      systemPrompt: latin(300),
      use: [trimTo(300)],
    });
    await agent.call(hangul(30));
    for (const request of model.requests) {
      expect(systemOf(request)).toEqual([latin(300)]);
      expect(linesOf(request)).toEqual([`user: ${hangul(30)}`]);
    }
  });

  test('counts names and arguments of calls with the text of their message', async () => {
    // 2 tokens of text, (4 + 36) / 4 of the call, 2 of the result, 1 of the prompt.
    const said = { text: latin(2), toolCalls: [{ name: 'look', input: { at: 'b'.repeat(27) } }] };
    for (const [budget, kept] of [
      [15, 3],
      [14, 1],
    ] as const) {
      const { agent, model } = make([said, 'Done.'], {
        tools: [named('look')],
        use: [trimTo(budget)],
      });
      await agent.call('aaaa');
      expect(linesOf(model.requests[1])).toHaveLength(kept);
    }
  });

  test('removes calls of earlier turns with their results, if a request shows them', async () => {
    const { agent, model } = make([calls('look'), latin(30), 'Done.'], {
      tools: [named('look')],
      use: [{ name: 'answersOnly' }, trimTo(82)],
    });
    await agent.call(latin(50));
    await agent.call(latin(50));
    expect(linesOf(model.requests[2])).toEqual([`assistant: ${latin(30)}`, `user: ${latin(50)}`]);
  });

  test('estimates by the kind of each character', () => {
    const counts = ['', 'a', 'hello world', '안녕하세요', '日本語テキスト', '😀😀', '❤️', '。、'];
    expect(counts.map((text) => estimateTokens(text, arc))).toEqual([0, 1, 2, 3, 5, 2, 2, 1]);
    expect(estimateTokens('Hello 세계 🌍', arc)).toBe(3);
  });
});
