import {
  assistantMessage,
  MemoryStore,
  SessionMemory,
  textOf,
  userMessage,
  type AgentHook,
} from '@isoloop/core';
import type { ScriptedReply } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import { asks, named, record, setUp, shown } from './test-support.ts';

describe('limit of iterations', () => {
  const looks = (count: number): ScriptedReply[] =>
    Array.from({ length: count }, () => ({ toolCalls: [{ name: 'look' }] }));
  const tools = [named('look')];

  test('tool calls of the last allowed round still run, and the summary reads their results', async () => {
    const { agent, model } = setUp([asks('a', 'b'), 'In short.'], {
      tools: [named('a'), named('b')],
      limits: { iterations: 1 },
    });

    await agent.call('Go');

    expect(shown(model.requests[1]?.messages).slice(0, -1)).toEqual([
      'user: Go',
      'assistant: ',
      'tool: a ran',
      'tool: b ran',
    ]);
  });

  test('the summary has its own events, then post-call, and each call counts its iterations anew', async () => {
    const { types, hook } = record();
    const { agent } = setUp([...looks(1), 'In short.', ...looks(1), 'Again.'], {
      tools,
      limits: { iterations: 1 },
      use: [hook],
    });

    const first = await agent.call('Go');
    const ofFirst = types.splice(0);
    const second = await agent.call('Go on');

    expect(ofFirst.slice(-4)).toEqual([
      'pre-summary',
      'summary-chunk',
      'post-summary',
      'post-call',
    ]);
    expect(types.slice(-4)).toEqual(ofFirst.slice(-4));
    expect([first.text, second.text]).toEqual(['In short.', 'Again.']);
    expect(second.iterations).toBe(1);
  });

  test('hooks change the request and the text of the summary, and post-call changes it last', async () => {
    const seen: string[] = [];
    const hook: AgentHook = {
      on: {
        'pre-summary': (event) => ({
          ...event,
          messages: [...event.messages, userMessage('In Chinese, please.')],
        }),
        'post-summary': (event) => ({
          ...event,
          message: { ...event.message, content: [{ type: 'text', text: '总结' }] },
        }),
        'post-call': (event) => {
          seen.push(textOf(event.message));
          return { ...event, message: assistantMessage('总结。', { name: 'Friday' }) };
        },
      },
    };
    const { agent, model } = setUp([...looks(1), 'In short.'], {
      name: 'Friday',
      tools,
      limits: { iterations: 1 },
      use: [hook],
    });

    const { text, reason } = await agent.call('Go');

    expect(shown(model.requests[1]?.messages).at(-1)).toBe('user: In Chinese, please.');
    expect(seen).toEqual(['总结']);
    expect([text, reason]).toEqual(['总结。', 'max-iterations']);
    expect(shown(await agent.messages()).at(-1)).toBe('assistant: 总结。');
  });

  test('an interrupt of the summary interrupts the call and is no summary', async () => {
    const { types, hook } = record();
    const { agent } = setUp([...looks(1), 'In short, much.'], {
      tools,
      limits: { iterations: 1 },
      use: [
        hook,
        {
          on: {
            'summary-chunk': (_event, { ending: { interrupt } }) => void interrupt(),
          },
        },
      ],
    });

    const { reason, text } = await agent.call('Go');

    expect(reason).toBe('interrupted');
    expect(text).not.toMatch(/Maximum iterations/u);
    expect(types).not.toContain('post-call');
  });

  test('the chunks of a streamed summary are its text, and a call that resumes counts its rounds anew', async () => {
    const { agent } = setUp(
      [
        asks('wait'),
        { toolCalls: [{ name: 'look' }] },
        { toolCalls: [{ name: 'look' }] },
        '简 而 言 之',
      ],
      {
        tools: [...tools, named('wait', (_, { suspend }) => suspend())],
        limits: { iterations: 2 },
      },
    );
    const chunks: string[] = [];

    const suspended = await agent.call('Go');
    const stream = agent.stream([{ toolUseId: 'wait', type: 'result', output: '' }]);
    for await (const event of stream) if (event.type === 'summary-chunk') chunks.push(event.delta);
    const { text, reason, iterations } = await stream.result;

    expect(suspended.iterations).toBe(1);
    expect([text, reason, iterations]).toEqual(['简 而 言 之', 'max-iterations', 2]);
    expect(chunks.join('')).toBe(text);
  });

  test('a session has the summary and not its prompt, and another agent continues after it', async () => {
    const store = new MemoryStore();
    const open = (replies: ScriptedReply[]) =>
      setUp(replies, {
        tools,
        memory: new SessionMemory(store, 's'),
        limits: { iterations: 1 },
      });

    await open([...looks(1), '总结']).agent.call('Go');
    const { agent, model } = open(['Welcome back.']);
    await agent.call('Hi');

    expect(shown(model.requests[0]?.messages)).toEqual([
      'user: Go',
      'assistant: ',
      'tool: look ran',
      'assistant: 总结',
      'user: Hi',
    ]);
  });

  test('the usage of the summary counts with the usage of all rounds', async () => {
    const usage = { inputTokens: 100, outputTokens: 7 };
    const { agent } = setUp([...looks(1), { text: 'In short.', usage }], {
      tools,
      limits: { iterations: 1 },
    });

    const result = await agent.call('Go');

    expect(result.usage).toMatchObject({ inputTokens: 110, outputTokens: 12 });
  });
});
