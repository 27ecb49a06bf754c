import {
  MemoryStore,
  SessionMemory,
  toolResultsOf,
  userMessage,
  type AgentHook,
  type ModelDelta,
} from '@isoloop/core';
import { loadState, saveState } from '@isoloop/core/state';
import type { ScriptedReply } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import { gate } from '../test-support.ts';
import { asks, finish, named, record, setUp, shown } from './test-support.ts';

describe('interrupts', () => {
  test('an interrupt before the first request asks no model, and the recovery text is stored as the answer', async () => {
    const { agent, model } = setUp(['Welcome back.'], {
      name: 'Friday',
      use: [{ on: { 'pre-call': (_event, { ending: { interrupt } }) => void interrupt() } }],
    });

    const { reason, text, message } = await agent.call('Go');

    expect([reason, message.role, message.name]).toEqual(['interrupted', 'assistant', 'Friday']);
    expect(text).not.toBe('');
    expect(model.requests).toHaveLength(0);
    expect(shown(await agent.messages())).toEqual(['user: Go', `assistant: ${text}`]);
  });

  test('an interrupt in the arguments of a tool call drops the call, and keeps the text before it', async () => {
    let ran = 0;
    const deltas: ModelDelta[][] = [
      [{ type: 'text', id: 't', delta: 'I look.' }],
      [{ type: 'tool-input', index: 0, id: 'a', name: 'a', delta: '{"city":' }],
      [{ type: 'tool-input', index: 0, delta: '"Rome"}' }],
      [finish],
    ];
    const { agent } = setUp([{ deltas }, 'Hello.'], {
      tools: [named('a', () => ++ran)],
      use: [
        {
          on: {
            'tool-input-chunk': (_event, { ending: { interrupt } }) => void interrupt(),
          },
        },
      ],
    });

    const { reason } = await agent.call('Go');
    const [, partial] = await agent.messages();

    expect([reason, ran]).toEqual(['interrupted', 0]);
    expect(partial?.content).toEqual([{ type: 'text', text: 'I look.' }]);
    expect((await agent.call('Hi')).text).toBe('Hello.');
  });

  test('an interrupt after reasoning starts no tool, and each call has a result before the recovery text', async () => {
    const ran: string[] = [];
    const { agent, model } = setUp([asks('a', 'b'), 'Hello.'], {
      tools: [named('a', () => ran.push('a')), named('b', () => ran.push('b'))],
      use: [
        {
          on: {
            'post-reasoning': ({ iteration }, { ending: { interrupt } }) =>
              void (iteration === 1 && interrupt()),
          },
        },
      ],
    });

    const { reason } = await agent.call('Go');
    const states = (await agent.messages()).flatMap((message) =>
      toolResultsOf(message).map(({ toolUseId, state }) => `${toolUseId} ${state}`),
    );

    expect([reason, ran]).toEqual(['interrupted', []]);
    expect(states).toEqual(['a interrupted', 'b interrupted']);
    expect(model.requests).toHaveLength(1);
  });

  test('an interrupt during a tool lets it finish and store its result; the next tool does not start', async () => {
    const ran: string[] = [];
    const { agent, model } = setUp([asks('a', 'b')], {
      tools: [
        named('a', async () => {
          agent.interrupt();
          await Promise.resolve();
          return 'finished';
        }),
        named('b', () => ran.push('b')),
      ],
    });

    const { reason } = await agent.call('Go');
    const results = (await agent.messages()).flatMap((message) => toolResultsOf(message));

    expect(reason).toBe('interrupted');
    expect(results.map(({ state }) => state)).toEqual(['success', 'interrupted']);
    expect([results[0]?.output, ran]).toEqual(['finished', []]);
    model.assertDone();
  });

  test('an interrupt during parallel tools lets all of them finish, and their post-acting hooks run', async () => {
    const { types, hook } = record();
    const { open, opened } = gate();
    const { agent } = setUp([asks('a', 'b')], {
      tools: [
        named('a', async () => {
          await opened;
          return 'a finished';
        }),
        named('b', (_, { interrupt }) => {
          interrupt();
          open();
          return 'b finished';
        }),
      ],
      limits: { parallelTools: Infinity },
      use: [hook],
    });

    const { reason } = await agent.call('Go');

    expect(reason).toBe('interrupted');
    expect(shown(await agent.messages()).slice(2, 4)).toEqual([
      'tool: a finished',
      'tool: b finished',
    ]);
    expect(types.filter((type) => type === 'post-acting')).toHaveLength(2);
    expect(types).not.toContain('post-call');
    expect(types).not.toContain('error');
  });

  test('an interrupt counts before a gotoReasoning of the same event, and its messages are not lost', async () => {
    const { agent, model } = setUp(['Maybe.', 'Yes.'], {
      use: [
        {
          on: {
            'post-reasoning': ({ iteration, gotoReasoning }, { ending: { interrupt } }) => {
              if (iteration > 1) return;
              gotoReasoning([userMessage('是或否?')]);
              interrupt('好');
            },
          },
        },
      ],
    });

    const { reason, text } = await agent.call('Well?');
    await agent.call('Hi');

    expect([reason, text]).toEqual(['interrupted', '好']);
    expect(model.requests).toHaveLength(2);
    expect(shown(model.requests[1]?.messages)).toEqual([
      'user: Well?',
      'assistant: Maybe.',
      'user: 是或否?',
      'assistant: 好',
      'user: Hi',
    ]);
  });

  test('an interrupt from a post-acting hook closes the calls that have not started', async () => {
    const ran: string[] = [];
    const { agent } = setUp([asks('a', 'b', 'c')], {
      tools: ['a', 'b', 'c'].map((name) => named(name, () => void ran.push(name))),
      use: [
        {
          on: { 'post-acting': (_event, { ending: { interrupt } }) => void interrupt() },
        },
      ],
    });

    const { reason } = await agent.call('Go');

    const states = (await agent.messages()).flatMap((message) =>
      toolResultsOf(message).map(({ state }) => state),
    );
    expect(reason).toBe('interrupted');
    expect(states).toEqual(
      ['a', 'b', 'c'].map((name) => (ran.includes(name) ? 'success' : 'interrupted')),
    );
    expect(ran).not.toContain('c');
  });

  test('interrupt(message) makes the message the answer, with the role assistant, and stores it', async () => {
    const { agent, model } = setUp([asks('a'), 'Hello.'], {
      tools: [
        named('a', () => {
          agent.interrupt(userMessage('操作已取消'));
          return '';
        }),
      ],
    });

    const { text, message, reason } = await agent.call('Go');
    await agent.call('Hi');

    expect([text, message.role, reason]).toEqual(['操作已取消', 'assistant', 'interrupted']);
    expect(shown(model.requests[1]?.messages).slice(-2)).toEqual([
      'assistant: 操作已取消',
      'user: Hi',
    ]);
  });

  test('an interrupted call continues without input: without the partial reply and the recovery text', async () => {
    const store = new MemoryStore();
    const open = (replies: ScriptedReply[], hooks: AgentHook[] = []) =>
      setUp(replies, { memory: new SessionMemory(store, 's'), sessionId: 's', use: hooks });
    const first = open(
      ['Once upon a time'],
      [
        {
          on: {
            'reasoning-chunk': (_event, { ending: { interrupt } }) => void interrupt(),
          },
        },
      ],
    );
    const second = open(['Once upon a time, the end.']);

    await first.agent.call('Tell');
    const { text } = await second.agent.call();

    expect(text).toBe('Once upon a time, the end.');
    expect(shown(second.model.requests[0]?.messages)).toEqual(['user: Tell']);
    expect(shown(await second.agent.messages())).toEqual(['user: Tell', `assistant: ${text}`]);
  });

  test('a call that was interrupted in a tool continues in another agent, and the tool does not run again', async () => {
    const store = new MemoryStore();
    let runs = 0;
    const open = (replies: ScriptedReply[]) =>
      setUp(replies, {
        memory: new SessionMemory(store, 's'),
        sessionId: 's',
        tools: [
          named('pay', (_, { interrupt }) => {
            interrupt('停');
            return `paid ${String(++runs)}`;
          }),
        ],
      });

    const first = await open([asks('pay')]).agent.call('Pay');
    const { agent, model } = open(['Done.']);
    const second = await agent.call();

    expect([first.text, second.text, runs]).toEqual(['停', 'Done.', 1]);
    expect(shown(model.requests[0]?.messages)).toEqual([
      'user: Pay',
      'assistant: ',
      'tool: paid 1',
    ]);
  });

  test('interrupt(message) keeps the blocks of the message, and the first of two messages counts', async () => {
    const image = {
      type: 'image',
      source: { type: 'url', url: 'https://example.com/停.png' },
    } as const;
    const { agent } = setUp(['one two three']);

    const stream = agent.stream('Go');
    for await (const { type } of stream) {
      if (type !== 'reasoning-chunk') continue;
      agent.interrupt(userMessage([{ type: 'text', text: '停止' }, image]));
      agent.interrupt('too late');
    }
    const { message } = await stream.result;

    expect(message).toMatchObject({ role: 'assistant', content: [{ text: '停止' }, image] });
    expect((await agent.messages()).at(-1)).toEqual(message);
  });

  test('the saved state has the interrupt flag, and a call after loading it is not interrupted', async () => {
    const first = setUp(['a b c'], {
      use: [
        {
          on: {
            'reasoning-chunk': (_event, { ending: { interrupt } }) => void interrupt(),
          },
        },
      ],
    });
    const second = setUp(['Hello.']);

    await first.agent.call('Go');
    const state = await saveState(first.agent);
    await loadState(second.agent, JSON.parse(JSON.stringify(state)));
    const { reason } = await second.agent.call('Hi');

    expect([state.interrupted, reason]).toEqual([true, 'stop']);
    expect((await saveState(second.agent)).interrupted).toBe(false);
  });
});
