import { MemoryStore, SessionMemory, textOf, tool, userMessage } from '@isoloop/core';
import { structured } from '@isoloop/core/output';
import { longTermMemory } from '@isoloop/recall';
import { metaTool, Toolkit } from '@isoloop/core/tool';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import {
  calling,
  dashScopeOn,
  dashScopeSays,
  external,
  given,
  inputTo,
  memories,
  namesOf,
  over,
  parametersTo,
  remembering,
  requestOf,
  rolesOf,
  setUp,
  textsOf,
  wire,
  type Options,
} from './test-support.ts';

describe('structured output', () => {
  const Trip = z.object({ 城市: z.string().min(1), 天数: z.number().int().positive() });
  const trip = { 城市: '京都', 天数: 3 };

  test.each(memories)(
    'a text without the tool gets a reminder that leaves no trace, %s',
    async (_, of) => {
      const { agent, model } = setUp(
        ['去京都玩三天。', calling(['generate_response', trip]), '不客气。'],
        { memory: of() },
      );

      const { output, usage } = await agent.call('计划旅行', { output: structured(Trip) });
      await agent.call('谢谢');

      expect(output).toEqual(trip);
      expect(usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
      expect(requestOf(model, 0).toolChoice).toBeUndefined();
      expect(requestOf(model, 1).toolChoice).toEqual({ name: 'generate_response' });
      expect(rolesOf(requestOf(model, 1).messages)).toEqual(['user', 'assistant', 'user']);
      expect(textOf(requestOf(model, 1).messages[2] ?? userMessage('?'))).toContain(
        'generate_response',
      );
      expect(textsOf(requestOf(model, 2).messages)).toEqual([
        '计划旅行',
        JSON.stringify(trip),
        '谢谢',
      ]);
    },
  );

  test('long-term memory records the value and neither the reminder nor the first text', async () => {
    const memory = remembering();
    const remember = longTermMemory({ memory });
    const { agent } = setUp(['京都へ三日。', calling(['generate_response', trip])], {
      use: [remember],
    });

    await agent.call('旅行の計画', { output: structured(Trip) });
    await remember.settled();

    expect(memory.recorded.map(textsOf)).toEqual([['旅行の計画', JSON.stringify(trip)]]);
  });

  test('a call for a value that waits for a tool gives the value when it continues', async () => {
    const outside = external('outside');
    const output = structured(Trip);
    const { agent } = setUp(
      [calling(['outside']), '잠시만요.', calling(['generate_response', trip])],
      { tools: [outside] },
    );

    const waiting = await agent.call('계획', { output });
    const done = await agent.call(given(waiting, '맑음'), { output });

    expect(done.output).toEqual(trip);
    expect(rolesOf(await agent.messages())).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  test('a group that was activated on the way to a value stays active in the session', async () => {
    const store = new MemoryStore();
    const options = (): Options => ({
      memory: new SessionMemory(store, '会话'),
      tools: new Toolkit(
        [
          metaTool(),
          tool({ name: 'search', description: '查', input: { type: 'object' }, group: '网络' }),
        ],
        { groups: [{ name: '网络', description: '上网', active: false }] },
      ),
    });
    const first = setUp(
      [
        calling(['switch_tool_groups', { groups: ['网络'] }]),
        '京都。',
        calling(['generate_response', trip]),
      ],
      options(),
    );
    const second = setUp(['在。'], options());

    const { output } = await first.agent.call('计划', { output: structured(Trip) });
    await second.agent.call('还在吗?');

    expect(output).toEqual(trip);
    expect(namesOf(requestOf(first.model, 1))).toContain('search');
    expect(namesOf(requestOf(second.model, 0))).toEqual(['switch_tool_groups', 'search']);
  });

  test('a DashScope model that thinks gets the reminder with the choice of a tool left to it', async () => {
    const value = {
      content: '',
      tool_calls: [
        {
          index: 0,
          id: 'c1',
          type: 'function',
          function: { name: 'generate_response', arguments: JSON.stringify(trip) },
        },
      ],
    };
    const [plain, thinking] = [1, 2].map(() =>
      wire(dashScopeSays({ content: '京都へ。' }), dashScopeSays(value)),
    );
    if (!plain || !thinking) throw new Error('A server is missing.');

    const output = structured(Trip);
    const results = [
      await over(dashScopeOn(plain)).call('旅行', { output }),
      await over(dashScopeOn(thinking, { thinkingBudget: 50 })).call('旅行', { output }),
    ];

    expect(results.map((result) => result.output)).toEqual([trip, trip]);
    const choices = [plain, thinking].map((server) => parametersTo(server, 1)['tool_choice']);
    expect(choices[0]).toMatchObject({ function: { name: 'generate_response' } });
    expect(choices[1]).toBe('auto');
    expect(inputTo(thinking, 1).at(-1)).toMatchObject({ role: 'user' });
  });
});
