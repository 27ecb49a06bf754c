import {
  AgentError,
  textOf,
  toolResultsOf,
  toolUsesOf,
  userMessage,
  type AgentHook,
} from '@isoloop/core';
import { describe, expect, test } from 'vitest';
import { asks, documented, failureOf, named, setUp, shown } from './test-support.ts';

/**
 * Calls an agent with a hook that throws at one event. Returns the error, what later hooks saw, and
 * counts.
 */
async function failAt(at: string) {
  let runs = 0;
  const later: string[] = [];
  const errors: string[] = [];
  const a = named('a', (_, { emit }) => {
    runs++;
    emit('half');
    return '';
  });
  const fails: AgentHook = {
    on: {
      '*': ({ type }) => {
        if (type === at) throw new Error('坏钩子');
      },
    },
  };
  const watches: AgentHook = {
    on: {
      '*': (event) => {
        if (event.type === at) later.push(event.type);
        if (event.type === 'error') errors.push(event.error.code);
      },
    },
  };
  const { agent, model } = setUp([{ text: 'Look. ', ...asks('a') }, 'Done.'], {
    tools: [a],
    use: [fails, watches],
  });

  const error = await failureOf(agent.call('Go'));
  return { error, later, errors, runs, requests: model.requests.length };
}

describe('hooks', () => {
  test('lower priorities run first, 100 is the default, and equal priorities keep their order', async () => {
    const order: string[] = [];
    const hook = (name: string, priority?: number): AgentHook => ({
      on: {
        'pre-reasoning': {
          handle: async () => {
            await Promise.resolve();
            order.push(name);
          },
          ...(priority === undefined ? {} : { priority }),
        },
      },
    });
    const everything: AgentHook = {
      on: { '*': ({ type }) => void (type === 'pre-reasoning' && order.push('every event')) },
    };
    const { agent } = setUp(['a'], {
      use: [
        hook('101', 101),
        hook('first'),
        everything,
        hook('10', 10),
        hook('100', 100),
        hook('-1', -1),
      ],
    });

    await agent.call('Hi');

    expect(order).toEqual(['-1', '10', 'first', 'every event', '100', '101']);
  });

  test('the next hook gets the messages of the hook before, and only this request has them', async () => {
    const seen: number[] = [];
    const adds = (text: string): AgentHook => ({
      on: {
        'pre-reasoning': (event) => {
          seen.push(event.messages.length);
          if (event.iteration === 1)
            return { ...event, messages: [...event.messages, userMessage(text)] };
          return undefined;
        },
      },
    });
    const { agent, model } = setUp([asks('a'), 'Done.'], {
      tools: [named('a')],
      use: [adds('甲'), adds('乙')],
    });

    await agent.call('Go');

    expect(seen).toEqual([1, 2, 3, 3]);
    expect(shown(model.requests[0]?.messages)).toEqual(['user: Go', 'user: 甲', 'user: 乙']);
    expect(shown(await agent.messages())).not.toContain('user: 甲');
  });

  test('a pre-reasoning hook sets the options of one request', async () => {
    const { agent, model } = setUp([asks('a'), 'Done.'], {
      tools: [named('a')],
      generate: { temperature: 0.2, maxTokens: 100 },
      use: [
        {
          on: {
            'pre-reasoning': (event) =>
              event.iteration === 1
                ? {
                    ...event,
                    options: { ...event.options, temperature: 0.9, toolChoice: 'required' },
                  }
                : undefined,
          },
        },
      ],
    });

    await agent.call('Go');

    expect(model.requests).toMatchObject([
      { temperature: 0.9, maxTokens: 100, toolChoice: 'required' },
      { temperature: 0.2, maxTokens: 100 },
    ]);
    expect(model.requests[1]?.toolChoice).toBeUndefined();
  });

  test('pre-call only notifies: a hook cannot change the input', async () => {
    const { agent, model } = setUp(['a'], {
      use: [{ on: { 'pre-call': (event) => ({ ...event, input: [userMessage('changed')] }) } }],
    });

    await agent.call('Hi').catch(() => undefined);

    expect(shown(model.requests[0]?.messages ?? [userMessage('Hi')])).toEqual(['user: Hi']);
    expect(shown(await agent.messages())).not.toContain('user: changed');
  });

  test('pre-call only notifies: each hook sees the input as it was sent', async () => {
    const seen: unknown[] = [];
    const hook = (name: string, priority: number): AgentHook => ({
      name,
      on: {
        'pre-call': {
          priority,
          handle: (event) => {
            seen.push([name, ...shown(event.input)]);
            return { ...event, input: [...event.input, userMessage(name)] };
          },
        },
      },
    });
    const { agent } = setUp(['a'], {
      use: [hook('late', Infinity), hook('early', -Infinity), hook('usual', 100)],
    });

    await agent.call('Hi');

    const names = ['early', 'usual', 'late'];
    expect(seen).toEqual(names.map((name) => [name, 'user: Hi']));
    expect(shown(await agent.messages())).toEqual(['user: Hi', 'assistant: a']);
  });

  test('a reply that a hook gives a tool call is acted on, and one that loses its call is the answer', async () => {
    const ran: unknown[] = [];
    const hook: AgentHook = {
      on: {
        'post-reasoning': (event) => {
          const content =
            event.iteration === 1
              ? ([{ type: 'tool_use', id: 'x', name: 'a', input: { city: '罗马' } }] as const)
              : ([{ type: 'text', text: 'Enough.' }] as const);
          return { ...event, message: { ...event.message, content } };
        },
      },
    };
    const { agent, model } = setUp(['No need.', asks('a')], {
      tools: [named('a', (input) => ran.push(input))],
      use: [hook],
    });

    const { text, reason } = await agent.call('Go');

    expect([text, reason]).toEqual(['Enough.', 'stop']);
    expect(ran).toEqual([{ city: '罗马' }]);
    expect(toolUsesOf(model.requests[1]!.messages[1]!)).toMatchObject([{ id: 'x' }]);
  });

  test('a reply that loses one of its two calls runs and stores only the other', async () => {
    const ran: string[] = [];
    const { agent, model } = setUp([asks('a', 'b'), 'Done.'], {
      tools: [named('a', () => ran.push('a')), named('b', () => ran.push('b'))],
      use: [
        {
          on: {
            'post-reasoning': (event) => ({
              ...event,
              message: {
                ...event.message,
                content: event.message.content.filter(
                  (block) => block.type !== 'tool_use' || block.name !== 'a',
                ),
              },
            }),
          },
        },
      ],
    });

    await agent.call('Go');

    expect(ran).toEqual(['b']);
    expect(toolUsesOf(model.requests[1]!.messages[1]!).map(({ id }) => id)).toEqual(['b']);
    expect(model.requests[1]?.messages).toHaveLength(3);
  });

  test('a pre-acting hook changes the arguments for the tool and for later hooks', async () => {
    const seen: unknown[] = [];
    const { agent } = setUp(
      [{ toolCalls: [{ name: 'a', id: 'a', input: { city: 'Rome' } }] }, 'Done.'],
      {
        tools: [named('a', (input) => void seen.push(input))],
        use: [
          {
            on: {
              'pre-acting': (event) => ({
                ...event,
                toolUse: { ...event.toolUse, input: { city: '北京' } },
              }),
              'post-acting': ({ toolUse }) => void seen.push(toolUse.input),
            },
          },
          { on: { 'pre-acting': ({ toolUse }) => void seen.push(toolUse.input) } },
        ],
      },
    );

    await agent.call('Go');

    expect(seen).toEqual([{ city: '北京' }, { city: '北京' }, { city: '北京' }]);
  });

  test('a pre-acting hook can repair the call of an unknown tool; the result keeps the id of the call', async () => {
    const problems: unknown[] = [];
    const { agent, model } = setUp([asks('serch'), 'Done.'], {
      tools: [named('search')],
      use: [
        {
          on: {
            'pre-acting': (event) => {
              problems.push(event.problem);
              return { ...event, toolUse: { ...event.toolUse, name: 'search' } };
            },
          },
        },
        { on: { 'pre-acting': ({ problem }) => void problems.push(problem) } },
      ],
    });

    await agent.call('Go');

    expect(problems).toEqual([expect.stringContaining('serch'), undefined]);
    expect(toolResultsOf(model.requests[1]!.messages.at(-1)!)).toMatchObject([
      { toolUseId: 'serch', output: 'search ran', state: 'success' },
    ]);
  });

  test('a post-call hook changes the answer, which the memory, the result and the last event have', async () => {
    const { agent, model } = setUp(['秘密 is 123', 'Next.'], {
      use: [
        {
          on: {
            'post-call': (event) =>
              textOf(event.message).includes('123')
                ? {
                    ...event,
                    message: { ...event.message, content: [{ type: 'text', text: '秘密 is …' }] },
                  }
                : undefined,
          },
        },
      ],
    });
    const ends: string[] = [];

    const stream = agent.stream('Say');
    for await (const event of stream) if (event.type === 'run-end') ends.push(event.result.text);
    await agent.call('Next');

    expect((await stream.result).text).toBe('秘密 is …');
    expect(ends).toEqual(['秘密 is …']);
    expect(shown(model.requests[1]?.messages)[1]).toBe('assistant: 秘密 is …');
  });

  test('every hook gets chunks and errors, and what it returns for them is ignored', async () => {
    const seen: string[] = [];
    const liar: AgentHook = {
      on: {
        '*': (event) => (event.type === 'reasoning-chunk' ? { ...event, delta: 'lie' } : undefined),
      },
    };
    const witness: AgentHook = {
      on: {
        'reasoning-chunk': ({ delta }) => void seen.push(delta.trim()),
        error: ({ error }) => void seen.push(error.message),
      },
    };
    const { agent } = setUp([{ text: 'one two', error: new Error('断线') }], {
      use: [witness, liar, witness],
    });

    const error = await failureOf(agent.call('Hi'));

    expect(error.message).toBe('断线');
    expect(seen).toEqual(['one', 'one', 'two', 'two', '断线', '断线']);
  });

  test.each([
    { at: 'pre-call', requests: 0, runs: 0 },
    { at: 'pre-reasoning', requests: 0, runs: 0 },
    { at: 'post-reasoning', requests: 1, runs: 0 },
    { at: 'pre-acting', requests: 1, runs: 0 },
    { at: 'post-call', requests: 2, runs: 1 },
  ])(
    'a hook that throws at $at fails the call, and later hooks do not get the event',
    async (given) => {
      const { error, later, errors, requests, runs } = await failAt(given.at);

      expect([error.code, errors]).toEqual(['HOOK_ERROR', ['HOOK_ERROR']]);
      expect([requests, runs]).toEqual([given.requests, given.runs]);
      expect(later).toEqual([]);
    },
  );

  test.each([
    { at: 'reasoning-chunk', requests: 1, runs: 0 },
    { at: 'acting-chunk', requests: 1, runs: 1 },
  ])(
    'a hook that throws at $at fails the call, although every hook gets the notification',
    async (given) => {
      const { error, later, errors, requests, runs } = await failAt(given.at);

      expect([error.code, errors]).toEqual(['HOOK_ERROR', ['HOOK_ERROR']]);
      expect([requests, runs]).toEqual([given.requests, given.runs]);
      expect(later).toEqual([given.at]);
    },
  );

  test('a hook that throws at post-acting fails the call; later hooks and the model get an error as the result', async () => {
    const seen: unknown[] = [];
    let broken = true;
    const { agent, model } = setUp([asks('a'), 'Fine.'], {
      tools: [named('a', () => '秘密')],
      use: [
        {
          on: {
            'post-acting'() {
              if (broken) throw new Error('坏钩子');
            },
          },
        },
        { on: { 'post-acting': ({ result }) => void seen.push(result.state) } },
      ],
    });

    const { code } = await failureOf(agent.call('Go'));
    broken = false;
    const { text } = await agent.call('And now?');

    expect([code, text, seen]).toEqual(['HOOK_ERROR', 'Fine.', ['error']]);
    expect(JSON.stringify(model.requests[1]?.messages)).not.toMatch(/秘密|坏钩子/u);
  });

  test('a hook that throws at the error event does not replace the error, and the other hooks get it', async () => {
    const seen: string[] = [];
    const { agent } = setUp([{ error: new AgentError('MODEL_SERVER', '过载') }], {
      use: [
        {
          on: {
            error() {
              throw new Error('坏钩子');
            },
          },
        },
        { on: { error: ({ error }) => void seen.push(error.code) } },
      ],
    });

    const error = await failureOf(agent.call('Go'));

    expect([error.code, error.message, seen]).toEqual(['MODEL_SERVER', '过载', ['MODEL_SERVER']]);
  });

  test('a hook from addHook() takes its place among the hooks of the agent by its priority', async () => {
    const order: string[] = [];
    const at = (name: string, priority: number): AgentHook => ({
      on: { 'post-call': { priority, handle: () => void order.push(name) } },
    });
    const { agent } = setUp(['a'], { use: [at('10', 10), at('100', 100)] });
    agent.addHook(at('50', 50));
    agent.addHook(at('5', 5));
    agent.addHook(at('100, later', 100));

    await agent.call('Hi');

    expect(order).toEqual(['5', '10', '50', '100', '100, later']);
  });

  test('a hook added in a run gets events from the next one on, until it is removed', async () => {
    const seen: string[] = [];
    const { agent } = setUp([asks('a'), 'Done.'], {
      tools: [named('a')],
      use: [
        {
          on: {
            'pre-reasoning': ({ iteration }) => {
              if (iteration > 1) return;
              const remove = agent.addHook({
                on: {
                  '*': ({ type }) => {
                    if (documented.has(type)) seen.push(type);
                    if (type === 'post-acting') remove();
                  },
                },
              });
            },
          },
        },
      ],
    });

    await agent.call('Go');

    expect(seen).toEqual(['post-reasoning', 'pre-acting', 'post-acting']);
  });
});
