import {
  InMemoryMemory,
  MemoryStore,
  SessionMemory,
  tool,
  toolResultsOf,
  toolUsesOf,
  userMessage,
  type AgentHook,
  type Memory,
  type Msg,
  type ReActAgent,
} from '@isoloop/core';
import { structured } from '@isoloop/core/output';
import { longTermMemory } from '@isoloop/recall';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { gate, outputsOf } from '../test-support.ts';
import {
  calling,
  external,
  given,
  memories,
  noting,
  remembering,
  requestOf,
  rolesOf,
  setUp,
  textsOf,
} from './test-support.ts';

describe('messages', () => {
  test('a request has the prompt, the recalled text, the history and then the question', async () => {
    const memory = remembering('用户喜欢龙井茶。');
    const { agent, model } = setUp(['好的。', '龙井茶。'], {
      systemPrompt: '你是助手。',
      use: [longTermMemory({ memory, mode: 'auto' })],
    });

    await agent.call('我叫小明。');
    await agent.call('我喜欢什么?');

    const { messages } = requestOf(model, 1);
    expect(rolesOf(messages)).toEqual(['system', 'user', 'user', 'assistant', 'user']);
    expect(textsOf(messages)[0]).toBe('你是助手。');
    expect(textsOf(messages)[1]).toContain('用户喜欢龙井茶。');
    expect(textsOf(messages).slice(2)).toEqual(['我叫小明。', '好的。', '我喜欢什么?']);
  });

  test('the recall runs once per agent call and its text stays first in every round', async () => {
    const memory = remembering('犬の名前はモモ。');
    const { agent, model } = setUp([calling(['look']), calling(['look']), 'モモです。'], {
      systemPrompt: 'あなたは助手です。',
      tools: [noting('look').tool],
      use: [longTermMemory({ memory, mode: 'auto' })],
    });

    await agent.call('犬の名前は?');

    expect(memory.queries).toEqual(['犬の名前は?']);
    const { messages } = requestOf(model, 2);
    const roles = ['system', 'user', 'user', 'assistant', 'tool', 'assistant', 'tool'];
    expect(rolesOf(messages)).toEqual(roles);
    expect(textsOf(messages)[1]).toContain('モモ');
    expect(textsOf(messages)[2]).toBe('犬の名前は?');
  });

  test('a prompt of blanks alone, also of wide ones, is not sent', async () => {
    const { agent, model } = setUp(['네.'], { systemPrompt: '\u3000\n \t' });

    await agent.call('안녕하세요');

    expect(rolesOf(requestOf(model, 0).messages)).toEqual(['user']);
  });

  test.each(memories)(
    'the question is in the memory before the first request, %s',
    async (_, of) => {
      const memory = of();
      const stored: string[][] = [];
      const looking: AgentHook = {
        on: { 'pre-reasoning': async () => void stored.push(textsOf(await memory.read())) },
      };
      const { agent } = setUp(['はい。'], { memory, use: [looking] });

      await agent.call([userMessage('一つ目'), userMessage('二つ目')]);

      expect(stored).toEqual([['一つ目', '二つ目']]);
    },
  );

  test('a stored reply has its thinking and text as they streamed, and then its tool calls', async () => {
    const { agent, model } = setUp(
      [
        {
          deltas: [
            [{ type: 'tool-input', index: 0, id: 'c1', name: 'look', delta: '{}' }],
            [{ type: 'text', id: 't', delta: '查一下。' }],
            [{ type: 'thinking', id: 'r', delta: '先想。' }],
            [{ type: 'finish', reason: 'tool_calls' }],
          ],
        },
        '完了。',
      ],
      { tools: [noting('look').tool] },
    );

    await agent.call('查');

    const reply = requestOf(model, 1).messages[1];
    expect(reply?.content.map(({ type }) => type)).toEqual(['text', 'thinking', 'tool_use']);
  });

  test.each(memories)('a message keeps its id, name, metadata and blocks, %s', async (_, of) => {
    const memory = of();
    const question = userMessage(
      [
        { type: 'text', text: '이 사진은?' },
        { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' } },
      ],
      { id: '질문-1', name: '민수', metadata: { 언어: '한국어' }, now: () => 0 },
    );
    const { agent } = setUp(['고양이.'], { memory });

    await agent.call(question);

    const [stored] = await agent.messages();
    expect(stored).toMatchObject({
      id: '질문-1',
      role: 'user',
      name: '민수',
      content: question.content,
      metadata: { 언어: '한국어' },
      createdAt: '1970-01-01T00:00:00.000Z',
    });
  });

  test.each([
    ['one at a time', 1],
    ['at the same time', Infinity],
  ])('each tool result is a message of its own, in call order, with tools %s', async (_, limit) => {
    const { open: release, opened: slow } = gate();
    const tools = ['slow', 'fast'].map((name) =>
      tool({
        name,
        description: name,
        input: { type: 'object' },
        execute: async () => {
          if (name === 'fast' || limit === 1) release();
          await slow;
          return `${name}的结果`;
        },
      }),
    );
    const { agent } = setUp([calling(['slow'], ['fast']), '完。'], {
      tools,
      limits: { parallelTools: limit },
    });

    await agent.call('两个都查');

    const messages = await agent.messages();
    expect(rolesOf(messages)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
    expect(outputsOf(messages)).toEqual(['slow的结果', 'fast的结果']);
    const calls = messages.flatMap(toolUsesOf).map(({ id }) => id);
    expect(messages.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId)).toEqual(calls);
  });

  test.each(memories)(
    'the requests of a call only grow, also with recalled text, %s',
    async (_, of) => {
      const { agent, model } = setUp(
        [calling(['look']), calling(['look'], ['look']), '三次了。', calling(['look']), '四次了。'],
        {
          systemPrompt: '你是助手。',
          memory: of(),
          tools: [noting('look').tool],
          use: [longTermMemory({ memory: remembering('用户很忙。'), mode: 'auto' })],
        },
      );

      await agent.call('看三次');
      await agent.call('再看一次');

      const sent = model.requests.map(({ messages }) => messages.map((one) => JSON.stringify(one)));
      for (const [before, after] of [[0, 1] as const, [1, 2] as const, [3, 4] as const]) {
        expect(sent[after]?.slice(0, sent[before]?.length)).toEqual(sent[before]);
      }
    },
  );

  test('rare characters, joined emoji and right-to-left text survive a session in a store', async () => {
    const store = new MemoryStore();
    const words = '𠮷野家で👨‍👩‍👧と食事\u3000한글 العربية \u0000 ﬁ';
    const first = setUp([words], { memory: new SessionMemory(store, '𠮷') });
    const second = setUp(['네'], { memory: new SessionMemory(store, '𠮷') });

    await first.agent.call(words);
    await second.agent.call('다시');

    expect(textsOf(requestOf(second.model, 0).messages)).toEqual([words, words, '다시']);
  });

  /** The conversation without what differs between two runs. */
  const shape = (messages: readonly Msg[]): unknown[] =>
    messages.map(({ role, name, content }) => ({ role, name, content }));

  test('call and stream, in memory and in a session, leave the same conversation', async () => {
    const Answer = z.object({ 答: z.string() });
    const conversation = async (memory: Memory, streams: boolean): Promise<unknown[]> => {
      const outside = external('outside');
      const { agent } = setUp(
        [
          { thinking: '먼저', text: '보자', ...calling(['look'], ['outside'], ['none']) },
          '아직',
          calling(['generate_response', { 答: '終' }]),
          '또 봐요',
        ],
        { memory, tools: [noting('look').tool, outside] },
      );
      const run: ReActAgent['call'] = (input, options) =>
        streams ? agent.stream(input, options).result : agent.call(input, options);
      const waiting = await run('시작');
      await run(given(waiting, '밖'), { output: structured(Answer) });
      await run('안녕');
      return shape(await agent.messages());
    };

    const called = await conversation(new InMemoryMemory(), false);
    const others = [
      await conversation(new InMemoryMemory(), true),
      await conversation(new SessionMemory(new MemoryStore(), 's'), false),
      await conversation(new SessionMemory(new MemoryStore(), 's'), true),
    ];

    expect(called).toHaveLength(8);
    expect(others).toEqual([called, called, called]);
  });
});
