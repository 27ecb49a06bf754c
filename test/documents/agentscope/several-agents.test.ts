import {
  assistantMessage,
  InMemoryMemory,
  MemoryStore,
  SessionMemory,
  userMessage,
  type Msg,
  type ReActAgent,
} from '@isoloop/core';
import { structured } from '@isoloop/core/output';
import { multiAgent } from '@isoloop/core/model';
import { longTermMemory } from '@isoloop/recall';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import {
  dashScopeOn,
  dashScopeSays,
  inputTo,
  noting,
  openAiOn,
  openAiSays,
  over,
  remembering,
  sentTo,
  setUp,
  toolTurn,
  wire,
} from './test-support.ts';

describe('several agents', () => {
  /** What Ann and two agents said, around a tool call of this agent. */
  const said: readonly Msg[] = [
    userMessage('你们好', { name: '安安' }),
    assistantMessage('大家好。', { name: '小红' }),
    ...toolTurn.slice(1, 3),
    assistantMessage('首尔晴。', { name: '助手' }),
  ];

  test('OpenAI gets the speech before and after tool calls as two histories', async () => {
    const server = wire(openAiSays({ content: '好' }));
    const agent = over(multiAgent(openAiOn(server)), {
      systemPrompt: '你是助手。',
      memory: new InMemoryMemory(said),
    });

    await agent.call(userMessage('谢谢', { name: '安安' }));

    const sent = sentTo(server, 0);
    expect(sent.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'user']);
    const histories = [sent[1], sent[4]].map((message) => String(message?.['content']));
    expect(histories[0]).toMatch(/<history>\n安安: 你们好\n小红: 大家好。\n<\/history>$/);
    expect(histories[1]).toMatch(/<history>\n助手: 首尔晴。\n安安: 谢谢\n<\/history>$/);
    expect(histories.every((text) => text.indexOf('<history>') > 0)).toBe(true);
  });

  test('an answer observed by another agent keeps its speaker, and recalled text has no speaker', async () => {
    const first = setUp(['我去查。'], { name: '小红' });
    const answer = (await first.agent.call('谁去查?')).message;
    const server = wire(openAiSays({ content: '好' }));
    const second = over(multiAgent(openAiOn(server)), {
      use: [longTermMemory({ memory: remembering('小红很勤快。'), mode: 'auto' })],
    });

    await second.observe(answer);
    await second.call(userMessage('谢谢她', { name: '安安' }));

    const [recalled, history] = sentTo(server, 0).map(({ content }) => String(content));
    expect(recalled).toContain('小红很勤快。');
    expect(recalled).not.toContain('<history>');
    expect(history).toMatch(/<history>\n小红: 我去查。\n安安: 谢谢她\n<\/history>$/);
  });

  test('agents that share a session speak with their own names to each other', async () => {
    const store = new MemoryStore();
    const server = wire(openAiSays({ content: '午後は雨。' }), openAiSays({ content: '傘を。' }));
    const speaker = (name: string): ReActAgent =>
      over(multiAgent(openAiOn(server)), { name, memory: new SessionMemory(store, '会議') });

    await speaker('天気係').call(userMessage('天気は?', { name: '客' }));
    await speaker('服装係').call(userMessage('服は?', { name: '客' }));

    const [history] = sentTo(server, 1).map(({ content }) => String(content));
    expect(history).toMatch(
      /<history>\n客: 天気は\?\n天気係: 午後は雨。\n客: 服は\?\n<\/history>$/,
    );
  });

  test('the request for a value gives DashScope all speech as one history, and other tools’ results apart', async () => {
    const call = (name: string, input: object, id: string): object => ({
      content: '',
      tool_calls: [
        { index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(input) } },
      ],
    });
    const server = wire(
      dashScopeSays(call('look', {}, 'c1')),
      dashScopeSays(call('generate_response', { 답: '맑음' }, 'c2')),
    );
    const agent = over(multiAgent(dashScopeOn(server)), { tools: [noting('look', '해').tool] });
    await agent.observe(assistantMessage('누가 볼래?', { name: '小红' }));

    const { output } = await agent.call(userMessage('네가 봐', { name: '민수' }), {
      output: structured(z.object({ 답: z.string() })),
    });

    expect(output).toEqual({ 답: '맑음' });
    expect(inputTo(server, 1).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(inputTo(server, 1)[0]?.['content']).toMatch(/小红: 누가 볼래\?\n민수: 네가 봐\n/);
  });
});
