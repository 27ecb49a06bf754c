import {
  AgentError,
  toolResultsOf,
  type AgentEvent,
  type ModelDelta,
  type Msg,
} from '@isoloop/core';
import { describe, expect, test } from 'vitest';
import { gate } from '../test-support.ts';
import { asks, failureOf, finish, named, setUp, shown } from './test-support.ts';

describe('streaming', () => {
  test('chunks are increments, and together they are the message, for text, thinking and arguments', async () => {
    const { agent } = setUp(
      [
        {
          thinking: '先 想 一想',
          text: 'I look it up.',
          toolCalls: [{ name: 'a', id: 'a', input: { 城市: '罗马' } }],
        },
        'Done.',
      ],
      { tools: [named('a')] },
    );
    const parts = { text: '', thinking: '', input: '' };
    let message: Msg | undefined;

    for await (const event of agent.stream('Go')) {
      if (event.iteration > 1) continue;
      if (event.type === 'reasoning-chunk') parts[event.kind] += event.delta;
      if (event.type === 'tool-input-chunk') parts.input += event.delta;
      if (event.type === 'post-reasoning') message = event.message;
    }

    expect(message?.content).toMatchObject([
      { type: 'thinking', thinking: parts.thinking },
      { type: 'text', text: parts.text },
      { type: 'tool_use', input: JSON.parse(parts.input) },
    ]);
    expect(parts).toEqual({
      thinking: '先 想 一想',
      text: 'I look it up.',
      input: '{"城市":"罗马"}',
    });
  });

  test('the next chunk of a model is read only after the hooks of a chunk have ended', async () => {
    const { open, opened } = gate();
    const deltas: ModelDelta[][] = [
      [{ type: 'text', id: 't', delta: '一' }],
      [{ type: 'text', id: 't', delta: '二' }],
      [finish],
    ];
    const seen: string[] = [];
    const { agent, model } = setUp([{ deltas }], {
      use: [
        {
          on: {
            'reasoning-chunk': async ({ delta }) => {
              seen.push(delta);
              await opened;
            },
          },
        },
      ],
    });

    const call = agent.call('Count');
    await expect.poll(() => seen).toEqual(['一']);
    const { reads } = model;
    open();

    expect((await call).text).toBe('一二');
    expect(reads).toBe(1);
    expect(seen).toEqual(['一', '二']);
  });

  test('a stream that nobody has read leaves the agent free, and still runs after another call', async () => {
    const { agent, model } = setUp(['first', 'second']);

    const stream = agent.stream('later');
    const { text } = await agent.call('now');
    const streamed = await stream.result;

    expect([text, streamed.text]).toEqual(['first', 'second']);
    expect(shown(model.requests[1]?.messages)).toEqual([
      'user: now',
      'assistant: first',
      'user: later',
    ]);
  });

  test('a reader that leaves while a tool runs aborts the call, and the next call has a valid history', async () => {
    const { agent, model } = setUp([asks('a', 'b'), 'Hello.'], {
      tools: [
        named('a', async (_, { emit, signal }) => {
          emit('started');
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          return 'too late';
        }),
        named('b'),
      ],
    });

    const stream = agent.stream('Go');
    for await (const { type } of stream) if (type === 'acting-chunk') break;
    const { reason } = await stream.result;
    await agent.call('Hi');

    const states = model.requests[1]!.messages.flatMap((message) =>
      toolResultsOf(message).map(({ toolUseId, state }) => `${toolUseId} ${state}`),
    );
    expect(reason).toBe('aborted');
    expect(states).toEqual(['a interrupted', 'b interrupted']);
  });

  test('fragments of two tool calls join by their index, even inside a character escape', async () => {
    const seen: unknown[] = [];
    const deltas: ModelDelta[][] = [
      [{ type: 'tool-input', index: 0, id: 'a', name: 'a', delta: '{"x":"\\u4' }],
      [{ type: 'tool-input', index: 1, id: 'b', name: 'b', delta: '{"y":' }],
      [{ type: 'tool-input', index: 0, delta: 'e2d"}' }],
      [{ type: 'tool-input', index: 1, delta: '[1,2]}' }],
      [finish],
    ];
    const { agent } = setUp([{ deltas }, 'Done.'], {
      tools: ['a', 'b'].map((name) => named(name, (input) => void seen.push(input))),
    });

    await agent.call('Go');

    expect(seen).toEqual([{ x: '中' }, { y: [1, 2] }]);
  });

  test('a reply whose arguments are empty calls the tool without arguments', async () => {
    const seen: unknown[] = [];
    const deltas: ModelDelta[][] = [
      [{ type: 'tool-input', index: 0, id: 'a', name: 'a', delta: '' }],
      [finish],
    ];
    const { agent } = setUp([{ deltas }, 'Done.'], {
      tools: [named('a', (input) => void seen.push(input))],
    });

    await agent.call('Go');

    expect(seen).toEqual([{}]);
  });

  test('the last event has the result, and no event repeats the text of the chunks as a chunk', async () => {
    const { agent } = setUp(['一 二 三']);
    const chunks: string[] = [];
    let last: AgentEvent | undefined;

    const stream = agent.stream('Count');
    for await (const event of stream) {
      if (event.type === 'reasoning-chunk') chunks.push(event.delta);
      last = event;
    }

    expect(chunks.join('')).toBe('一 二 三');
    expect(last).toMatchObject({ type: 'run-end', result: { text: '一 二 三', reason: 'stop' } });
    expect((await stream.result).text).toBe('一 二 三');
  });

  test('a model that fails in the middle of a reply fails call and stream with the same error, and stores no reply', async () => {
    const reply = { text: 'Half ', error: new AgentError('MODEL_SERVER', '过载') };
    const called = setUp([reply, 'Whole.']);
    const streamed = setUp([reply]);

    const first = await failureOf(called.agent.call('Go'));
    const second = await failureOf(streamed.agent.stream('Go').result);

    expect([first.code, first.message]).toEqual(['MODEL_SERVER', '过载']);
    expect(second.toJSON()).toEqual(first.toJSON());
    expect(shown(await streamed.agent.messages())).toEqual(['user: Go']);
    expect((await called.agent.call()).text).toBe('Whole.');
  });
});
