import { ReActAgent, userMessage, type AgentHook } from '@isoloop/core';
import { agentscope } from '@isoloop/presets';
import { ScriptedModel } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import { gate } from '../test-support.ts';
import { asks, failureOf, named, note, record, setUp, shown } from './test-support.ts';

describe('lifecycle', () => {
  test('an answer without tools has pre-call, reasoning and post-call, in this order', async () => {
    const { types, hook } = record();
    const { agent } = setUp(['Hello there.'], { use: [hook] });

    await agent.call('Hi');

    expect(types).toEqual([
      'pre-call',
      'pre-reasoning',
      'reasoning-chunk',
      'post-reasoning',
      'post-call',
    ]);
  });

  test('a round with a tool has acting events between two reasoning rounds, for hooks and readers alike', async () => {
    const { types, hook } = record();
    const read: string[] = [];
    const slow = named('slow', (_, { emit }) => {
      emit('half');
      emit('almost');
      return 'whole';
    });
    const { agent } = setUp([{ text: 'Wait. ', ...asks('slow') }, 'Done.'], {
      tools: [slow],
      use: [hook],
    });

    for await (const event of agent.stream('Go')) note(read, event);

    const round = ['pre-reasoning', 'reasoning-chunk', 'post-reasoning'];
    const acting = ['pre-acting', 'acting-chunk', 'post-acting'];
    expect(types).toEqual(['pre-call', ...round, ...acting, ...round, 'post-call']);
    expect(read).toEqual(types);
  });

  test('hooks get the same events from call() as from stream()', async () => {
    const called = record();
    const streamed = record();
    const replies = [asks('look'), 'Done.'];
    const first = setUp(replies, { tools: [named('look')], use: [called.hook] });
    const second = setUp(replies, { tools: [named('look')], use: [streamed.hook] });

    await first.agent.call('Go');
    for await (const _ of second.agent.stream('Go'));

    expect(streamed.types).toEqual(called.types);
  });

  test('a request has the system prompt, the history and the question in this order', async () => {
    const { agent, model } = setUp(['甲', '乙'], { systemPrompt: '请简短回答。' });

    await agent.call('一');
    await agent.call('二');

    expect(shown(model.requests[1]?.messages)).toEqual([
      'system: 请简短回答。',
      'user: 一',
      'assistant: 甲',
      'user: 二',
    ]);
  });

  test('a blank system prompt is no message, and tool schemas are never in it', async () => {
    const blank = setUp(['a'], { systemPrompt: '  \n' });
    const prompted = setUp(['a'], { systemPrompt: 'Be brief.', tools: [named('look')] });

    await blank.agent.call('Hi');
    await prompted.agent.call('Hi');

    expect(shown(blank.model.requests[0]?.messages)).toEqual(['user: Hi']);
    expect(shown(prompted.model.requests[0]?.messages)[0]).toBe('system: Be brief.');
    expect(prompted.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['look']);
  });

  test('observe() only appends: it asks no model and no hook, and the next request has the message', async () => {
    const { types, hook } = record();
    const { agent, model } = setUp(['Hello Ann.'], { use: [hook] });

    await agent.observe('I am Ann.');
    const before = [...types];
    await agent.call('Who am I?');

    expect(before).toEqual([]);
    expect(shown(model.requests[0]?.messages)).toEqual(['user: I am Ann.', 'user: Who am I?']);
  });

  test("a list of messages enters the conversation in its order, before the reply with the agent's name", async () => {
    const { agent } = setUp(['Both.'], { name: 'Friday' });

    await agent.call([userMessage('one', { name: 'Ann' }), userMessage('two', { name: '王' })]);

    const messages = await agent.messages();
    expect(messages.map(({ name }) => name)).toEqual(['Ann', '王', 'Friday']);
    expect(shown(messages)).toEqual(['user: one', 'user: two', 'assistant: Both.']);
  });

  test('two agents with one preset run at the same time, with hooks and interrupts of their own', async () => {
    const preset = agentscope();
    const { open, opened } = gate();
    const first = record();
    const second = record();
    const agentOf = (hook: AgentHook) =>
      new ReActAgent({
        name: 'Friday',
        model: new ScriptedModel([[{ text: 'one ' }, { wait: opened, text: 'two' }]]),
        use: [preset, hook],
      });
    const one = agentOf(first.hook);
    const two = agentOf(second.hook);

    const calls = Promise.all([one.call('Go'), two.call('Go')]);
    await expect.poll(() => [...first.types, ...second.types]).toHaveLength(6);
    one.interrupt('停');
    open();

    expect((await calls).map(({ text }) => text)).toEqual(['停', 'one two']);
    expect(first.types).toEqual(['pre-call', 'pre-reasoning', 'reasoning-chunk']);
    expect(second.types.slice(-2)).toEqual(['post-reasoning', 'post-call']);
  });

  test('a failed call and a failed hook release the agent for the next call', async () => {
    let broken = true;
    const hook: AgentHook = {
      on: {
        'post-call'() {
          if (broken) throw new Error('no');
        },
      },
    };
    const { agent } = setUp([{ error: new Error('down') }, 'lost', 'Good.'], { use: [hook] });

    await failureOf(agent.call('1'));
    await failureOf(agent.call('2'));
    broken = false;

    expect(agent.busy).toBe(false);
    expect((await agent.call('3')).text).toBe('Good.');
  });

  test('a stream does nothing before its first read, and reads no further than its reader', async () => {
    const { agent, model } = setUp(['one two three four five']);
    const stream = agent.stream('Count');
    const before = { requests: model.requests.length, busy: (await agent.messages()).length };

    const events = stream[Symbol.asyncIterator]();
    let event = await events.next();
    while (event.value?.type !== 'reasoning-chunk') event = await events.next();
    const { reads } = model;
    for (let tick = 0; tick < 50; tick++) await Promise.resolve();

    expect(before).toEqual({ requests: 0, busy: 0 });
    expect(model.reads).toBe(reads);
    await events.return?.();
  });
});
