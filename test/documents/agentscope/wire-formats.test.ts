import {
  assistantMessage,
  InMemoryMemory,
  systemMessage,
  tool,
  toolMessage,
  userMessage,
} from '@isoloop/core';
import { Toolkit } from '@isoloop/core/tool';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { eventsOf } from '../test-support.ts';
import {
  dashScopeOn,
  dashScopeSays,
  inputTo,
  noting,
  openAiOn,
  openAiSays,
  over,
  parametersTo,
  sentTo,
  toolTurn,
  wire,
  type Options,
} from './test-support.ts';

describe('wire formats', () => {
  test('tool schemas go into the field for tools, and not into the prompt', async () => {
    const [ai, qwen] = [
      wire(openAiSays({ content: '好' })),
      wire(dashScopeSays({ content: '好' })),
    ];
    const query = tool({
      name: 'query',
      description: '데이터를 조회합니다',
      input: z.object({ 문장: z.string(), 지역: z.string() }),
      preset: { 지역: '서울' },
    });
    const options = { systemPrompt: '당신은 비서입니다.', tools: [query] };

    await over(openAiOn(ai), options).call('안녕');
    await over(dashScopeOn(qwen), options).call('안녕');

    const sent = ai.bodies[0]?.['tools'];
    expect(sent).toMatchObject([
      {
        type: 'function',
        function: {
          name: 'query',
          description: '데이터를 조회합니다',
          parameters: { type: 'object', required: ['문장'] },
        },
      },
    ]);
    expect(JSON.stringify(sent)).not.toContain('지역');
    expect(sentTo(ai, 0)[0]).toEqual({ role: 'system', content: '당신은 비서입니다.' });
    expect(parametersTo(qwen, 0)).toMatchObject({ tools: sent });
    expect(inputTo(qwen, 0)[0]).toEqual({ role: 'system', content: '당신은 비서입니다.' });
  });

  test('OpenAI gets no content beside tool calls, and the lines of a result as one text', async () => {
    const server = wire(openAiSays({ content: '네' }));
    const agent = over(openAiOn(server), { memory: new InMemoryMemory(toolTurn) });

    await agent.call('고마워요');

    const [question, call, result, answer] = sentTo(server, 0);
    expect(question).toEqual({ role: 'user', name: '민수', content: '서울 날씨는?' });
    expect(call).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'c1',
          type: 'function',
          function: { name: 'weather', arguments: '{"城市":"서울"}' },
        },
      ],
    });
    expect(result).toEqual({ role: 'tool', tool_call_id: 'c1', content: '맑음\n18도' });
    expect(answer).toEqual({ role: 'assistant', content: '맑고 18도입니다.' });
  });

  test('arguments that are not JSON are an error for the model, and the server gets valid JSON', async () => {
    const { ran, tool: look } = noting('look');
    const server = wire(
      openAiSays(
        { tool_calls: [{ index: 0, id: 'c1', function: { name: 'look', arguments: '{"城' } }] },
        'tool_calls',
      ),
      openAiSays({ content: '对不起' }),
    );

    await over(openAiOn(server), { tools: [look] }).call('看');

    const [, call, result] = sentTo(server, 1);
    const [sent] = call!['tool_calls'] as readonly { function: { arguments: string } }[];
    expect(ran).toEqual([]);
    expect(JSON.parse(sent?.function.arguments ?? '')).toBeTypeOf('object');
    expect(result?.['content']).toMatch(/^Error: .*JSON/s);
  });

  test('DashScope gets an empty content beside tool calls, a name with results, no thinking', async () => {
    const server = wire(dashScopeSays({ content: '네' }));
    const agent = over(dashScopeOn(server), { memory: new InMemoryMemory(toolTurn) });

    await agent.call('고마워요');

    const [question, call, result] = inputTo(server, 0);
    expect(question).toEqual({ role: 'user', content: '서울 날씨는?' });
    expect(call).toMatchObject({ role: 'assistant', content: '', tool_calls: [{ id: 'c1' }] });
    expect(result).toMatchObject({ role: 'tool', tool_call_id: 'c1', name: 'weather' });
    expect(JSON.stringify(server.bodies)).not.toContain('需要查询天气。');
  });

  test('DashScope streams thinking apart from text, and joins tool calls cut inside a character', async () => {
    const escaped = '{"城市":"\\u4eac\\u90fd"}';
    const part = (text: string, start: object = {}): object => ({
      content: '',
      tool_calls: [{ index: 0, ...start, function: { ...start, arguments: text } }],
    });
    const server = wire(
      dashScopeSays(
        { content: '', reasoning_content: '先查' },
        { content: '', reasoning_content: '天气。' },
        { content: '查一下。' },
        part(escaped.slice(0, 12), { id: 'c1', name: 'look' }),
        part(escaped.slice(12)),
      ),
      dashScopeSays({ content: '晴。' }),
    );
    const { ran, tool: look } = noting('look');
    const agent = over(dashScopeOn(server, { thinkingBudget: 200 }), { tools: [look] });

    const events = await eventsOf(agent.stream('京都天气'));

    const saidAs = (kind: string): string =>
      events
        .flatMap((event) =>
          event.type === 'reasoning-chunk' && event.kind === kind ? event.delta : [],
        )
        .join('');
    expect(saidAs('thinking')).toBe('先查天气。');
    expect(saidAs('text')).toBe('查一下。晴。');
    expect(ran).toEqual([{ 城市: '京都' }]);
    expect(parametersTo(server, 0)).toMatchObject({
      enable_thinking: true,
      thinking_budget: 200,
      incremental_output: true,
    });
  });

  test('a server gets no field for tools while all groups are inactive', async () => {
    const [ai, qwen] = [
      wire(openAiSays({ content: '네' })),
      wire(dashScopeSays({ content: '네' })),
    ];
    const options = (): Options => ({
      tools: new Toolkit(
        [tool({ name: 'look', description: '보기', input: z.object({}), group: '읽기' })],
        { groups: [{ name: '읽기', description: '읽기', active: false }] },
      ),
    });

    await over(openAiOn(ai), options()).call('안녕');
    await over(dashScopeOn(qwen), options()).call('안녕');

    expect(Object.keys(ai.bodies[0] ?? {})).not.toContain('tools');
    expect(Object.keys(parametersTo(qwen, 0))).not.toContain('tools');
  });

  test.each(['required', { name: 'look' }] as const)(
    'a request without tools has no tool choice either, with the choice %j',
    async (toolChoice) => {
      const call = {
        tool_calls: [{ index: 0, id: 'c1', function: { name: 'look', arguments: '{}' } }],
      };
      const [ai, qwen] = [
        wire(openAiSays(call, 'tool_calls'), openAiSays({ content: '요약' })),
        wire(dashScopeSays({ content: '', ...call }), dashScopeSays({ content: '요약' })),
      ];
      const options = (): Options => ({
        tools: [noting('look').tool],
        limits: { iterations: 1 },
        generate: { toolChoice },
      });

      const results = [
        await over(openAiOn(ai), options()).call('봐'),
        await over(dashScopeOn(qwen), options()).call('봐'),
      ];

      expect(results.map(({ text }) => text)).toEqual(['요약', '요약']);
      const fields = [ai.bodies[1], parametersTo(qwen, 1)].flatMap((one) => Object.keys(one ?? {}));
      expect(fields).not.toContain('tools');
      expect(fields).not.toContain('tool_choice');
    },
  );

  test('system messages keep their place and role, and a message of two results becomes two', async () => {
    const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} }) as const;
    const result = (toolUseId: string, output: string) =>
      ({ type: 'tool_result', toolUseId, name: 'look', output, state: 'success' }) as const;
    const history = [
      userMessage('보자'),
      assistantMessage([use('a'), use('b')]),
      toolMessage([result('b', '둘'), result('a', '하나')]),
      systemMessage('짧게 답해.'),
      assistantMessage('네.'),
    ];
    const [ai, qwen] = [
      wire(openAiSays({ content: '네' })),
      wire(dashScopeSays({ content: '네' })),
    ];

    await over(openAiOn(ai), { memory: new InMemoryMemory(history) }).call('또');
    await over(dashScopeOn(qwen), { memory: new InMemoryMemory(history) }).call('또');

    const roles = ['user', 'assistant', 'tool', 'tool', 'system', 'assistant', 'user'];
    for (const sent of [sentTo(ai, 0), inputTo(qwen, 0)]) {
      expect(sent.map(({ role }) => role)).toEqual(roles);
      const results = sent.slice(2, 4).map(({ tool_call_id, content }) => [tool_call_id, content]);
      expect(new Map(results as [string, string][])).toEqual(
        new Map([
          ['a', '하나'],
          ['b', '둘'],
        ]),
      );
      expect(sent[4]?.['content']).toBe('짧게 답해.');
    }
  });
});
