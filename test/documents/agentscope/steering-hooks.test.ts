import {
  MemoryStore,
  SessionMemory,
  textOf,
  toolMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
  type AgentHook,
} from '@isoloop/core';
import type { ScriptedReply } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import { asks, failureOf, named, record, setUp, shown } from './test-support.ts';

describe('steering hooks', () => {
  test('stop after reasoning leaves the tool calls pending, and call() without input runs them', async () => {
    let stops = true;
    const ran: string[] = [];
    const { agent, model } = setUp([asks('a', 'b'), 'Done.'], {
      tools: [named('a', () => ran.push('a')), named('b', () => ran.push('b'))],
      use: [{ on: { 'post-reasoning': (event) => void (stops && event.stop()) } }],
      memory: new SessionMemory(new MemoryStore(), 's'),
    });

    const stopped = await agent.call('Go');
    const ranBefore = [...ran];
    stops = false;
    const resumed = await agent.call();

    expect([stopped.reason, stopped.stoppedAt]).toEqual(['stopped-by-hook', 'post-reasoning']);
    expect(toolUsesOf(stopped.message).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(ranBefore).toEqual([]);
    expect(ran).toEqual(['a', 'b']);
    expect([resumed.text, model.requests.length]).toEqual(['Done.', 2]);
  });

  test('a call that a hook stopped before its tools continues in another agent over the same session', async () => {
    const store = new MemoryStore();
    const ran: string[] = [];
    const open = (replies: ScriptedReply[], hooks: AgentHook[]) =>
      setUp(replies, {
        memory: new SessionMemory(store, 's'),
        sessionId: 's',
        tools: ['a', 'b'].map((name) => named(name, () => void ran.push(name))),
        limits: { parallelTools: Infinity },
        use: hooks,
      });
    const first = open([asks('a', 'b')], [{ on: { 'post-reasoning': ({ stop }) => stop() } }]);
    const second = open(['Done.'], []);

    await first.agent.call('Go');
    const { text } = await second.agent.call();

    expect([text, ran]).toEqual(['Done.', ['a', 'b']]);
    expect(second.model.requests[0]?.messages).toHaveLength(4);
  });

  test('after a stop with pending tool calls, new input is refused until their results are given', async () => {
    let stops = true;
    const { agent, model } = setUp([asks('a'), 'Done.'], {
      tools: [named('a')],
      use: [{ on: { 'post-reasoning': (event) => void (stops && event.stop()) } }],
    });

    await agent.call('Go');
    stops = false;
    const refused = await failureOf(agent.call('Something else'));
    const answer = await agent.call(
      toolMessage({
        type: 'tool_result',
        toolUseId: 'a',
        name: 'a',
        output: '外部',
        state: 'success',
      }),
    );

    expect(refused.code).toBe('PENDING_TOOL_CALLS');
    expect(answer.text).toBe('Done.');
    expect(shown(model.requests[1]?.messages).at(-1)).toBe('tool: 外部');
  });

  test('a stop in the last allowed round is a stop, not the limit', async () => {
    const { agent, model } = setUp([asks('a')], {
      tools: [named('a')],
      limits: { iterations: 1 },
      use: [{ on: { 'post-acting': (event) => event.stop() } }],
    });

    const { reason, stoppedAt } = await agent.call('Go');

    expect([reason, stoppedAt]).toEqual(['stopped-by-hook', 'post-acting']);
    model.assertDone();
  });

  test('a stop at the first of two post-acting events counts, and the next call continues from there', async () => {
    let stops = true;
    const { agent, model } = setUp([asks('a', 'b'), 'Done.'], {
      tools: [named('a'), named('b')],
      use: [
        {
          on: {
            'post-acting': ({ toolUse, stop }) => void (stops && toolUse.name === 'a' && stop()),
          },
        },
      ],
    });

    const { reason } = await agent.call('Go');
    stops = false;
    const { text } = await agent.call();

    expect([reason, text]).toEqual(['stopped-by-hook', 'Done.']);
    expect(toolResultsOf(model.requests[1]!.messages.at(-1)!)).toHaveLength(1);
  });

  test('a stop before reasoning asks no model, and call() without input asks it', async () => {
    let stops = true;
    const { agent, model } = setUp(['你好'], {
      use: [{ on: { 'pre-reasoning': (event) => void (stops && event.stop()) } }],
    });

    const stopped = await agent.call('Hi');
    const requests = model.requests.length;
    stops = false;
    const { text } = await agent.call();

    expect([stopped.reason, stopped.stoppedAt, requests]).toEqual([
      'stopped-by-hook',
      'pre-reasoning',
      0,
    ]);
    expect(text).toBe('你好');
    expect(shown(await agent.messages())).toEqual(['user: Hi', 'assistant: 你好']);
  });

  test('gotoReasoning after a tool adds its messages behind the results of all calls', async () => {
    const { agent, model } = setUp([asks('a', 'b'), 'Done.'], {
      tools: [named('a'), named('b')],
      use: [
        {
          on: {
            'post-acting': ({ toolUse, gotoReasoning }) => {
              if (toolUse.name === 'a') gotoReasoning([userMessage('请继续')]);
            },
          },
        },
      ],
    });

    await agent.call('Go');

    expect(shown(model.requests[1]?.messages).slice(-3)).toEqual([
      'tool: a ran',
      'tool: b ran',
      'user: 请继续',
    ]);
  });

  test.each([
    { at: 'post-reasoning', message: 'Look. ', tools: 0 },
    { at: 'post-acting', message: 'Look. ', tools: 1 },
  ] as const)(
    'after a stop at $at, post-call gets the message of the stopped round',
    async (given) => {
      const answers: string[] = [];
      let runs = 0;
      const { agent } = setUp([{ text: 'Look. ', ...asks('a') }], {
        tools: [named('a', () => ++runs)],
        use: [
          {
            on: {
              [given.at]: ({ stop }: { stop(): void }) => stop(),
              'post-call': ({ message }) => void answers.push(textOf(message)),
            },
          },
        ],
      });

      await agent.call('Go');

      expect(answers).toEqual([given.message]);
      expect(runs).toBe(given.tools);
    },
  );

  test('a suspended call ends with post-call', async () => {
    const { types, hook } = record();
    const { agent } = setUp([asks('wait'), 'Done.'], {
      tools: [named('wait', (_, { suspend }) => suspend())],
      use: [hook],
    });

    await agent.call('Go');

    expect(types).toEqual([
      'pre-call',
      'pre-reasoning',
      'post-reasoning',
      'pre-acting',
      'post-call',
    ]);
  });

  test('gotoReasoning after reasoning adds its messages and asks again, as one more iteration', async () => {
    const { agent, model } = setUp(['Maybe.', 'Yes.'], {
      use: [
        {
          on: {
            'post-reasoning': ({ message, gotoReasoning }) => {
              if (textOf(message) === 'Maybe.') gotoReasoning([userMessage('Yes or no?')]);
            },
          },
        },
      ],
    });

    const { text, iterations } = await agent.call('Well?');

    expect([text, iterations]).toEqual(['Yes.', 2]);
    expect(shown(model.requests[1]?.messages)).toEqual([
      'user: Well?',
      'assistant: Maybe.',
      'user: Yes or no?',
    ]);
    expect(shown(await agent.messages())).toContain('user: Yes or no?');
  });

  test('gotoReasoning at the limit leads to the summary', async () => {
    const { agent } = setUp(['Maybe.', 'In short.'], {
      limits: { iterations: 1 },
      use: [
        {
          on: {
            'post-reasoning': ({ gotoReasoning }) => gotoReasoning([userMessage('Yes or no?')]),
          },
        },
      ],
    });

    const { text, reason } = await agent.call('Well?');

    expect([text, reason]).toEqual(['In short.', 'max-iterations']);
  });

  test('gotoReasoning with the results of a tool call skips the tool', async () => {
    let ran = 0;
    const result = toolMessage({
      type: 'tool_result',
      toolUseId: 'a',
      name: 'a',
      output: 'from the cache',
      state: 'success',
    });
    const { agent, model } = setUp([asks('a'), 'Done.'], {
      tools: [named('a', () => ++ran)],
      use: [
        {
          on: {
            'post-reasoning': ({ message, gotoReasoning }) => {
              if (toolUsesOf(message).length > 0) gotoReasoning([result]);
            },
          },
        },
      ],
    });

    await agent.call('Go');

    expect(ran).toBe(0);
    expect(shown(model.requests[1]?.messages).at(-1)).toBe('tool: from the cache');
  });
});
