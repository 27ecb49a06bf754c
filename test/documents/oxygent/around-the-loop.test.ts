import { ReActAgent, textOf, tool } from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { oxygent } from '@isoloop/presets';
import { ScriptedModel } from '@isoloop/core/testing';
import { describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { gate } from '../test-support.ts';
import { calls, echo, echoes, list, observed, read, said, setUp } from './test-support.ts';
import { fakeClock } from '../../clock/fake-clock.ts';

describe('around the loop', () => {
  test('the result has the steps of its agent call alone, with corrections', async () => {
    const { agent } = setUp([echoes('1'), 'a1', '{}', echoes('2'), 'a2', 'a3']);
    await agent.call('q1');
    const { reactMemory } = await agent.call('q2');
    expect(reactMemory?.map(({ role }) => role)).toEqual([
      'assistant',
      'user',
      'assistant',
      'tool',
    ]);
    expect((await agent.call('q3')).reactMemory).toEqual([]);
  });

  test('the friendly text is the answer if the request after the last round fails', async () => {
    const { agent, model } = setUp([echoes('x'), { error: new Error('Down.') }, 'Hello.'], {
      preset: { maxRounds: 1, friendlyErrorText: 'Sorry!' },
    });
    const { text, reason, error } = await agent.call('q1');
    expect([text, reason, error?.message]).toEqual(['Sorry!', 'max-iterations', 'Down.']);
    await agent.call('q2');
    expect(said(model, 2)).toEqual(['user: q1', 'assistant: Sorry!', 'user: q2']);
  });

  test('the friendly text may depend on the error, and reaches readers of a stream', async () => {
    const { agent } = setUp([{ error: new Error('Down.') }], {
      preset: { friendlyErrorText: ({ message }) => `Sorry: ${message}` },
    });
    const { result } = await read(agent.stream('Go.', { throwOnError: false }));
    expect([result.text, result.reason]).toEqual(['Sorry: Down.', 'error']);
  });

  test('a seventeenth agent call waits, and may be aborted while it waits', async () => {
    const { open, opened } = gate();
    const model = new ScriptedModel(
      Array.from({ length: 17 }, () => ({ wait: opened, text: 'Hi.' })),
    );
    const use = [oxygent()];
    const call = (signal?: AbortSignal) =>
      new ReActAgent({ name: 'oxy', model, use }).call('Go.', signal ? { signal } : {});
    const running = Array.from({ length: 16 }, () => call());
    const impatient = new AbortController();
    const waiting = call(impatient.signal);
    const patient = call();
    await expect.poll(() => model.requests.length).toBe(16);
    impatient.abort();
    expect((await waiting).reason).toBe('aborted');
    expect(model.requests).toHaveLength(16);
    open();
    await Promise.all(running);
    expect((await patient).text).toBe('Hi.');
  });

  test('an interrupt lets the running tools of a list finish, and asks nothing more', async () => {
    const stop = tool({
      name: 'stop',
      description: 'Interrupts.',
      input: z.object({}),
      execute: (_, context) => context.interrupt('Stopped.'),
    });
    const { model, agent } = setUp([list(calls('stop'), echoes('x'))], { tools: [stop, echo] });
    const { text, reason, reactMemory } = await agent.call('Go.');
    expect([text, reason, model.requests.length]).toEqual(['Stopped.', 'interrupted', 1]);
    expect(reactMemory?.filter(({ role }) => role === 'tool')).toHaveLength(2);
  });

  test('an interrupt in the middle of a reply drops the reply', async () => {
    const { model, agent } = setUp([
      [{ text: 'Half a ' }, { wait: async () => void agent.interrupt(), text: 'reply.' }],
      'Hello.',
    ]);
    const { text, result } = await read(agent.stream('q1'));
    expect(result.reason).toBe('interrupted');
    expect(text).toBe(result.text);
    expect(text).not.toContain('Half');
    await agent.call('q2');
    expect(said(model, 1)).toEqual(['user: q2']);
  });

  test('an abort ends the wait before a failed tool runs again', async () => {
    const clock = fakeClock();
    const run = vi.fn(() => {
      throw new Error('Busy.');
    });
    const busy = tool({ name: 'busy', description: 'Fails.', input: z.object({}), execute: run });
    const { agent } = setUp([calls('busy'), 'Hello.'], { tools: [busy] });
    const controller = new AbortController();
    const call = agent.call('Go.', { signal: controller.signal });
    await clock.advance(500);
    controller.abort();
    expect((await call).reason).toBe('aborted');
    await clock.advance(5_000);
    expect(run).toHaveBeenCalledTimes(1);
    expect((await agent.call('Hello?')).text).toBe('Hello.');
  });

  test('failed tools of a list wait for their second try together', async () => {
    const clock = fakeClock();
    const { model, agent } = setUp([list(calls('broken'), calls('broken')), 'Done.']);
    const call = agent.call('Go.');
    await clock.advance(1_000);
    expect((await call).text).toBe('Done.');
    expect(model.requests).toHaveLength(2);
  });

  test('a list runs one by one if the agent says so, with the same observation', async () => {
    const order: string[] = [];
    const note = tool({
      name: 'note',
      description: 'Notes.',
      input: z.object({ text: z.string() }),
      async execute({ text }) {
        order.push(`${text} starts`);
        await Promise.resolve();
        order.push(`${text} ends`);
        return text;
      },
    });
    const both = list(calls('note', { text: 'a' }), calls('note', { text: 'b' }));
    for (const parallelTools of [1, 2]) {
      const { model, agent } = setUp([both, 'Done.'], { tools: [note], limits: { parallelTools } });
      await agent.call('Go.');
      expect(said(model, 1).at(-1)).toBe(
        `user: ${observed('note', 'a')}\n\n${observed('note', 'b')}`,
      );
    }
    expect(order.slice(0, 4)).toEqual(['a starts', 'a ends', 'b starts', 'b ends']);
    expect(order.slice(4)).toEqual(['a starts', 'b starts', 'a ends', 'b ends']);
  });

  test('agent calls that wait for a person do not take the places of others', async () => {
    const ask = tool({ name: 'ask', description: 'Asks.', input: z.object({}) });
    const model = new ScriptedModel([...Array.from({ length: 16 }, () => calls('ask')), 'Hi.']);
    const use = [oxygent()];
    const agentOf = () => new ReActAgent({ name: 'oxy', model, tools: [ask], use });
    const waiting = await Promise.all(Array.from({ length: 16 }, () => agentOf().call('Go.')));
    expect(waiting.every(({ reason }) => reason === 'suspended')).toBe(true);
    expect((await agentOf().call('Go.')).text).toBe('Hi.');
  });

  test('an agent call has no time limit of its own, only each tool call has one', async () => {
    const clock = fakeClock();
    const slow = tool({
      name: 'slow',
      description: 'Takes long.',
      input: z.object({}),
      execute: () => new Promise<string>((resolve) => setTimeout(resolve, 3_000_000, 'Slow.')),
    });
    const { model, agent } = setUp([calls('slow'), calls('slow'), 'Done.'], { tools: [slow] });
    const call = agent.call('Go.', { throwOnError: false });
    await clock.advance(6_000_000);
    expect((await call).text).toBe('Done.');
    expect(said(model, 2).at(-1)).toBe(`user: ${observed('slow', 'Slow.')}`);
  });

  test('events come in the order: reasoning, acting, reasoning, answer', async () => {
    const { agent } = setUp([list(echoes('a'), echoes('b')), '{}', 'Done.']);
    const { types } = await read(agent.stream('Go.'));
    const rounds = [
      'pre-reasoning post-reasoning pre-acting pre-acting post-acting post-acting',
      'pre-reasoning post-reasoning',
      'pre-reasoning post-reasoning',
    ];
    expect(types.filter((type) => !/chunk|step-reset/.test(type)).join(' ')).toBe(
      ['run-start pre-call', ...rounds, 'post-call run-end'].join(' '),
    );
  });

  test('a sub-agent answers in a list of tool calls, also with the same preset', async () => {
    const use = [oxygent()];
    const child = new ReActAgent({
      name: 'helper',
      model: new ScriptedModel([echoes('deep'), 'It is deep.']),
      tools: [echo],
      use,
    });
    const model = new ScriptedModel([
      list(calls('call_helper', { message: 'How deep?' }), echoes('x')),
      'Done.',
    ]);
    const tools = [agentTool(child, { description: 'Helps.' }), echo];
    const agent = new ReActAgent({ name: 'oxy', model, tools, use });
    expect((await agent.call('Go.')).toolsUsed).toEqual(['call_helper', 'echo']);
    const results = said(model, 1).at(-1) ?? '';
    expect(results).toMatch(/^user: Tool \[call_helper\] execution result: .*It is deep\./s);
    expect(results).toContain(observed('echo', 'x'));
  });

  test('a sub-agent that fails runs once more, and then its failure is the observation', async () => {
    const clock = fakeClock();
    const down = { error: new Error('Down.') };
    const childModel = new ScriptedModel([down, down]);
    const child = new ReActAgent({ name: 'helper', model: childModel, use: [oxygent()] });
    const { model, agent } = setUp([calls('call_helper', { message: 'Hi' }), 'Done.'], {
      tools: [agentTool(child, { description: 'Helps.' })],
    });
    const call = agent.call('Go.');
    expect((await clock.advanceUntil(call)).text).toBe('Done.');
    expect(said(model, 1).at(-1)).toContain('Down.');
    childModel.assertDone();
  });

  test('a reader that leaves during a tool call ends it, and the agent can be called again', async () => {
    const { model, agent } = setUp([echoes('x'), 'Hello.']);
    for await (const event of agent.stream('q1')) if (event.type === 'pre-acting') break;
    await agent.call('q2');
    expect(said(model, 1)).toEqual(['user: q2']);
  });

  test('a message that arrives during a round follows the observation of the round', async () => {
    const { model, agent } = setUp([echoes('x'), 'Done.']);
    const stream = agent.stream('Go.');
    for await (const event of stream)
      if (event.type === 'post-acting') agent.interrupt({ mode: 'inject', messages: 'In French.' });
    const texts = said(model, 1);
    expect(texts.slice(0, 2)).toEqual(['user: Go.', `assistant: ${echoes('x')}`]);
    expect(texts.slice(2).join('\n')).toContain(observed('echo', 'x'));
    expect(texts.at(-1)).toContain('In French.');
  });

  test('a paused agent call continues from its steps when the agent is called again', async () => {
    const { model, agent } = setUp([echoes('x'), 'Done.']);
    const remove = agent.addHook({
      on: { 'post-acting': () => void agent.interrupt({ mode: 'pause' }) },
    });
    expect((await agent.call('Go.')).reason).toBe('suspended');
    remove();
    const { text, reactMemory } = await agent.call();
    expect(text).toBe('Done.');
    expect(said(model, 1)).toEqual([
      'user: Go.',
      `assistant: ${echoes('x')}`,
      `user: ${observed('echo', 'x')}`,
    ]);
    expect(reactMemory?.map(({ role }) => role)).toEqual(['assistant', 'tool']);
  });

  test('an input that a hook refuses never reaches the model', async () => {
    const { model, agent } = setUp(['Hello.']);
    const remove = agent.addHook({
      on: { 'pre-call': ({ reject }) => reject('Not now.') },
    });
    expect((await agent.call('Go.', { throwOnError: false })).reason).toBe('rejected');
    expect(model.requests).toHaveLength(0);
    remove();
    await agent.call('Again.');
    expect(said(model, 0)).toEqual(['user: Again.']);
  });

  test('a processed answer is what the caller and later agent calls get', async () => {
    const { model, agent } = setUp(['hello', 'Bye.']);
    agent.addHook({
      on: {
        'post-call': (event) => ({
          ...event,
          message: {
            ...event.message,
            content: [{ type: 'text', text: textOf(event.message).toUpperCase() }],
          },
        }),
      },
    });
    expect((await agent.call('q1')).text).toBe('HELLO');
    await agent.call('q2');
    expect(said(model, 1)).toEqual(['user: q1', 'assistant: HELLO', 'user: q2']);
  });
});
