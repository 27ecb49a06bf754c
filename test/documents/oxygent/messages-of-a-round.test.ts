import { systemMessage, textOf, tool } from '@isoloop/core';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { calls, echo, echoes, list, observed, said, setUp } from './test-support.ts';
import { fakeClock } from '../../clock/fake-clock.ts';

describe('the messages of a round', () => {
  test('stand in the order: history, question, steps of this agent call', async () => {
    const { model, agent } = setUp(['A.', echoes('1'), echoes('2'), 'B.']);
    await agent.call('First?');
    await agent.call('Second?');
    expect(said(model, 3)).toEqual([
      'user: First?',
      'assistant: A.',
      'user: Second?',
      `assistant: ${echoes('1')}`,
      `user: ${observed('echo', '1')}`,
      `assistant: ${echoes('2')}`,
      `user: ${observed('echo', '2')}`,
    ]);
    expect(model.requests[3]?.messages[0]?.role).toBe('system');
  });

  test('have the instructions of the agent call before the history', async () => {
    const { model, agent } = setUp(['A.', 'B.', 'C.'], { systemPrompt: 'Be kind.' });
    await agent.call('First?');
    await agent.call('Second?', { instructions: [systemMessage('Be brief.')] });
    await agent.call('Third?');
    const texts = (request: number) => model.requests[request]?.messages.map(textOf) ?? [];
    expect(texts(1).slice(1)).toEqual(['Be brief.', 'First?', 'A.', 'Second?']);
    expect(texts(2)).not.toContain('Be brief.');
  });

  test('have no thought, neither of the text nor beside it nor in the tool call', async () => {
    const { model, agent } = setUp([
      { thinking: 'Beside.', text: `<think>In.</think>${echoes('x', { think: 'Within.' })}` },
      'Done.',
    ]);
    const thoughts: string[] = [];
    for await (const event of agent.stream('Go.'))
      if (event.type === 'reasoning-chunk' && event.kind === 'thinking') thoughts.push(event.delta);
    expect(thoughts.join('')).toBe('Beside.In.Within.');
    expect(said(model, 1)[1]).toBe(`assistant: ${echoes('x', { think: 'Within.' })}`);
  });

  test('show wrong arguments as a result, without running the tool', async () => {
    const { model, agent } = setUp(['{"tool_name": "echo"}', 'Done.']);
    expect((await agent.call('Go.')).text).toBe('Done.');
    expect(said(model, 1).at(-1)).toMatch(/^user: Tool \[echo\] execution result: .*text/s);
  });

  test('show only the calls that a hook leaves in a list', async () => {
    const { model, agent } = setUp([list(echoes('a'), echoes('b')), 'Done.']);
    agent.addHook({
      on: {
        'post-reasoning': ({ message, ...event }) => ({
          ...event,
          message: { ...message, content: message.content.slice(0, 1) },
        }),
      },
    });
    await agent.call('Go.');
    expect(said(model, 1).at(-1)).toBe(`user: ${observed('echo', 'a')}`);
    expect(said(model, 1)[1]).not.toContain('"b"');
  });

  test('show an approved and a refused call of a list in their order', async () => {
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ to: z.string() }),
      needsApproval: true,
      execute: ({ to }) => `Paid ${to}.`,
    });
    const both = list(calls('pay', { to: 'Eve' }), echoes('x'), calls('pay', { to: 'Bob' }));
    const { model, agent } = setUp([both, 'Done.'], { tools: [pay, echo] });
    const [eve, bob] = (await agent.call('Pay.')).pending;
    await agent.call([
      { toolUseId: bob?.toolUseId ?? '', type: 'approve' },
      { toolUseId: eve?.toolUseId ?? '', type: 'reject', reason: 'Not Eve.' },
    ]);
    const results = said(model, 1).at(-1)?.split('\n\n') ?? [];
    expect(results[0]).toContain('Not Eve.');
    expect(results.slice(1)).toEqual([observed('echo', 'x'), observed('pay', 'Paid Bob.')]);
    expect(said(model, 1)[1]).toBe(`assistant: ${both}`);
  });

  test('show a failed and an unknown tool beside a successful one', async () => {
    const clock = fakeClock();
    const { model, agent } = setUp([list(calls('broken'), calls('fly'), echoes('ok')), 'Done.']);
    const call = agent.call('Go.');
    expect((await clock.advanceUntil(call)).text).toBe('Done.');
    const results = said(model, 1).at(-1)?.split('\n\n') ?? [];
    expect(results).toHaveLength(3);
    expect(results[0]).toContain('No paper.');
    expect(results[1]).toContain('Tool [fly] execution result: ');
    expect(results[2]).toBe(observed('echo', 'ok'));
  });

  test('repeat a reply as the model wrote it, without its thinking', async () => {
    const written =
      'I look it up.\n```json\n{ "tool_name" : "echo",\n  "arguments": {"text":"x"} }\n```';
    const { model, agent } = setUp([`<think>Hm, hm.</think>\n${written}\n\n`, 'Done.']);
    await agent.call('Go.');
    expect(said(model, 1)[1]).toBe(`assistant: ${written}`);
  });

  test('show text of any language unchanged and other values as JSON', async () => {
    const city = tool({
      name: 'city',
      description: 'Describes a city.',
      input: z.object({}),
      execute: () => ({ name: '東京', people: 14_000_000 }),
    });
    const { model, agent } = setUp([list(echoes('人口は「多い」😀'), calls('city')), 'はい。'], {
      tools: [echo, city],
    });
    await agent.call('東京は?');
    expect(said(model, 1).at(-1)).toBe(
      `user: ${observed('echo', '人口は「多い」😀')}\n\n${observed('city', '{"name":"東京","people":14000000}')}`,
    );
  });

  test('have the invalid reply before its correction, and keep both in later rounds', async () => {
    const { model, agent } = setUp(['{"answer": 42}', echoes('x'), 'Done.']);
    await agent.call('Go.');
    const [question, reply, correction, ...rest] = said(model, 2);
    expect([question, reply]).toEqual(['user: Go.', 'assistant: {"answer": 42}']);
    expect(correction).toMatch(/^user: .*tool_name/s);
    expect(rest).toEqual([`assistant: ${echoes('x')}`, `user: ${observed('echo', 'x')}`]);
  });
});
