import {
  assistantMessage,
  InMemoryMemory,
  MemoryStore,
  SessionMemory,
  toolUsesOf,
  userMessage,
  type ChatModel,
  type JsonValue,
  type Middleware,
  type Msg,
} from '@isoloop/core';
import { longTermMemory, retrieval } from '@isoloop/recall';
import type { RetrievedDocument } from '@isoloop/core/message';
import { loadState, saveState } from '@isoloop/core/state';
import { Toolkit } from '@isoloop/core/tool';
import { describe, expect, test } from 'vitest';
import {
  calling,
  dashScopeOn,
  dashScopeSays,
  external,
  given,
  memories,
  noting,
  openAiOn,
  openAiSays,
  over,
  remembering,
  requestOf,
  rolesOf,
  setUp,
  textsOf,
  toolTurn,
  wire,
  type Wire,
} from './test-support.ts';

describe('memory', () => {
  test.each(memories)('a deleted message is in no later request, %s', async (_, of) => {
    const memory = of();
    const { agent, model } = setUp(['一', '二', '三'], { memory });

    await agent.call('秘密の番号は七');
    const [secret] = await memory.read();
    await memory.delete([secret?.id ?? '', '知らない番号']);
    await agent.call('次');
    await memory.clear();
    await agent.call('最初から');

    expect(textsOf(requestOf(model, 1).messages)).toEqual(['一', '次']);
    expect(textsOf(requestOf(model, 2).messages)).toEqual(['最初から']);
  });

  test('long-term memory is asked with the last user message and stays out of the memory', async () => {
    const memory = remembering('小明住在杭州。');
    const { agent } = setUp(['杭州。'], { use: [longTermMemory({ memory })] });

    await agent.call([
      userMessage('我是小明。'),
      userMessage('我住在哪里?'),
      assistantMessage('让我想想。'),
    ]);

    expect(memory.queries).toEqual(['我住在哪里?']);
    const stored = await agent.messages();
    expect(textsOf(stored)).toEqual(['我是小明。', '我住在哪里?', '让我想想。', '杭州。']);
  });

  test('an interrupted call is not recorded, and the next call is recorded once', async () => {
    const memory = remembering();
    const remember = longTermMemory({ memory });
    const { agent } = setUp(['写 一 首 很 长 的 诗', '好的。'], { use: [remember] });

    for await (const { type } of agent.stream('写诗')) {
      if (type === 'reasoning-chunk') agent.interrupt();
    }
    await agent.call('算了');
    await remember.settled();

    expect(memory.recorded.map(textsOf)).toEqual([['算了', '好的。']]);
  });

  test.each(memories)(
    'what a user adds to a running call is recorded with its turn, %s',
    async (_, of) => {
      const memory = remembering();
      const remember = longTermMemory({ memory });
      const { agent } = setUp(['价格 是 多少 呢', '十元人民币。'], {
        memory: of(),
        use: [remember],
      });

      let asked = false;
      for await (const { type } of agent.stream('多少钱?')) {
        if (type !== 'reasoning-chunk' || asked) continue;
        asked = agent.interrupt({ mode: 'inject', messages: '用人民币。' });
      }
      await remember.settled();

      expect(memory.queries).toEqual(['多少钱?']);
      expect(memory.recorded.map(textsOf)).toEqual([['多少钱?', '用人民币。', '十元人民币。']]);
    },
  );

  test('a suspended call is recorded once, when a later call gives the answer', async () => {
    const memory = remembering();
    const remember = longTermMemory({ memory });
    const outside = external('outside');
    const { agent } = setUp([calling(['outside']), '予約しました。'], {
      tools: [outside],
      use: [remember],
    });

    const waiting = await agent.call('予約して');
    await remember.settled();
    const before = memory.recorded.length;
    await agent.call(given(waiting, '済み'));
    await remember.settled();

    expect(before).toBe(0);
    expect(memory.recorded).toHaveLength(1);
    expect(textsOf(memory.recorded[0] ?? [])).toContain('予約しました。');
  });

  test('retrieval drops scores below the threshold and keeps the best of equal ids', async () => {
    const documents: readonly RetrievedDocument[] = [
      { id: '甲', content: '图书馆九点开门。', score: 0.5 },
      { id: '乙', content: '食堂十一点开门。', score: 0.499 },
      { id: '甲', content: '图书馆九点开门(新版)。', score: 0.9 },
      { id: '丙', content: '体育馆六点开门。', score: 0.7 },
    ];
    const retriever = { retrieve: async () => documents };
    const { agent, model } = setUp(['九点。'], {
      use: [retrieval({ retriever, threshold: 0.5, topK: 5 })],
    });

    await agent.call('图书馆几点开门?');

    const [found = '', question] = textsOf(requestOf(model, 0).messages);
    expect(question).toBe('图书馆几点开门?');
    expect(found.indexOf('新版')).toBeLessThan(found.indexOf('体育馆'));
    expect(found).not.toContain('食堂');
    expect(found.match(/图书馆/g)).toHaveLength(1);
    expect(textsOf(await agent.messages())).toEqual(['图书馆几点开门?', '九点。']);
  });

  test('memories and documents both stand before the history, in the order of their parts', async () => {
    const { agent, model } = setUp(['はい。', 'はい。'], {
      systemPrompt: '案内係です。',
      use: [
        longTermMemory({ memory: remembering('客は茶が好き。'), mode: 'auto' }),
        retrieval({ retriever: { retrieve: async () => [{ content: '茶室は二階。' }] } }),
      ],
    });

    await agent.call('こんにちは');
    await agent.call('茶室は?');

    const texts = textsOf(requestOf(model, 1).messages);
    expect(texts).toHaveLength(6);
    expect(texts[1]).toContain('客は茶が好き。');
    expect(texts[2]).toContain('茶室は二階。');
    expect(texts.slice(3)).toEqual(['こんにちは', 'はい。', '茶室は?']);
  });

  test('a call that continues open tool calls recalls by the question that it answers', async () => {
    const memory = remembering('회의는 화요일.');
    const outside = external('outside');
    const { agent, model } = setUp([calling(['outside']), '화요일입니다.'], {
      tools: [outside],
      use: [longTermMemory({ memory, mode: 'auto' })],
    });

    const waiting = await agent.call('회의가 언제야?');
    await agent.call(given(waiting, '네'));

    expect(memory.queries).toEqual(['회의가 언제야?', '회의가 언제야?']);
    expect(textsOf(requestOf(model, 1).messages)[0]).toContain('회의는 화요일.');
  });

  test('the texts of a question are the query, without its picture, and other input asks nothing', async () => {
    const memory = remembering('기억');
    const { agent, model } = setUp(['네', '네'], {
      use: [longTermMemory({ memory, mode: 'auto' })],
    });

    await agent.call([
      userMessage([
        { type: 'text', text: '이 사진의' },
        { type: 'image', source: { type: 'url', url: 'https://example.com/개.png' } },
        { type: 'text', text: '강아지는?' },
      ]),
      assistantMessage('잠시만요.'),
    ]);
    await agent.call(assistantMessage('이어서 말해 봐.'));

    expect(memory.queries).toEqual(['이 사진의\n강아지는?']);
    expect(rolesOf(requestOf(model, 1).messages)[0]).toBe('user');
    expect(textsOf(requestOf(model, 1).messages).join()).not.toContain('기억');
  });

  test('with both ways, what the model records comes beside the record of the turn', async () => {
    const memory = remembering();
    const remember = longTermMemory({ memory });
    const { agent } = setUp(
      [calling(['record_to_memory', { content: ['小明住在杭州。'] }]), '记住了。'],
      { use: [remember] },
    );

    await agent.call('我住在杭州。');
    await remember.settled();

    expect(memory.queries).toEqual(['我住在杭州。']);
    expect(memory.recorded.map(textsOf)).toEqual([
      ['小明住在杭州。'],
      ['我住在杭州。', '记住了。'],
    ]);
  });

  test('a call that continues open tool calls finds documents by the question that it answers', async () => {
    const queries: string[] = [];
    const outside = external('outside');
    const finding = {
      retrieve: async (query: string) => {
        queries.push(query);
        return [{ content: '茶室は二階。', score: 1 }];
      },
    };
    const { agent, model } = setUp([calling(['outside']), '二階です。'], {
      tools: [outside],
      use: [retrieval({ retriever: finding })],
    });

    const waiting = await agent.call('茶室は?');
    await agent.call(given(waiting, 'はい'));

    expect(queries).toEqual(['茶室は?', '茶室は?']);
    expect(textsOf(requestOf(model, 1).messages)[0]).toContain('茶室は二階。');
  });

  test.each(memories)('results whose tool calls were deleted are not sent, %s', async (_, of) => {
    const memory = of();
    const { agent, model } = setUp([calling(['look'], ['look']), '두 번.', '네.'], {
      memory,
      tools: [noting('look').tool],
    });

    await agent.call('두 번 봐');
    const calls = (await memory.read()).find((message) => toolUsesOf(message).length);
    await memory.delete([calls?.id ?? '']);
    await agent.call('다시');

    expect(textsOf(requestOf(model, 2).messages)).toEqual(['두 번 봐', '두 번.', '다시']);
  });

  test.each(memories)('a cleared memory forgets pending tool calls, %s', async (_, of) => {
    const memory = of();
    const { agent, model } = setUp([calling(['ask']), '처음부터.'], {
      memory,
      tools: [external('ask')],
    });

    await agent.call('물어봐');
    await memory.clear();
    const { text } = await agent.call('새로 시작');

    expect(text).toBe('처음부터.');
    expect(textsOf(requestOf(model, 1).messages)).toEqual(['새로 시작']);
  });

  test('a call without input recalls by the observed question, and records it with the answer', async () => {
    const memory = remembering('犬はモモ。');
    const remember = longTermMemory({ memory });
    const { agent } = setUp(['モモです。'], { use: [remember] });

    await agent.observe([assistantMessage('どうぞ。'), userMessage('犬の名前は?')]);
    await agent.call();
    await remember.settled();

    expect(memory.queries).toEqual(['犬の名前は?']);
    expect(memory.recorded.map(textsOf)).toEqual([['犬の名前は?', 'モモです。']]);
  });

  test('two knowledge bases are both searched if they have two names, as parts and as tools', async () => {
    const base = (name: string, mode: 'auto' | 'tool', toolName = name): Middleware => {
      const retriever = { retrieve: async () => [{ content: `${name}의 문서`, score: 0.9 }] };
      return { ...retrieval({ retriever, mode, tool: { name: toolName } }), name };
    };
    const { agent, model } = setUp(['네'], { use: [base('law', 'auto'), base('tax', 'auto')] });

    await agent.call('찾아');

    const texts = textsOf(requestOf(model, 0).messages);
    expect(texts).toHaveLength(3);
    expect(texts[0]).toContain('law의 문서');
    expect(texts[1]).toContain('tax의 문서');
    const use = [base('law', 'tool', 'search'), base('tax', 'tool', 'search')];
    expect(() => setUp([], { use })).toThrow(/"search"/);
  });
});

describe('state', () => {
  test('the state has the messages, the active groups and the interrupt flag', async () => {
    const kit = (): Toolkit =>
      new Toolkit([], {
        groups: [
          { name: '网络', description: '上网' },
          { name: '文件', description: '文件', active: false },
        ],
      });
    const first = setUp(['慢 慢 说 话'], { tools: kit() });
    (first.agent.tools as Toolkit).setActiveGroups(['文件']);
    for await (const { type } of first.agent.stream('你好')) {
      if (type === 'reasoning-chunk') first.agent.interrupt('操作已取消');
    }

    const saved = JSON.parse(JSON.stringify(await saveState(first.agent))) as JsonValue;
    const second = setUp(['继续。'], {
      tools: kit(),
      memory: new SessionMemory(new MemoryStore(), '别处'),
    });
    await loadState(second.agent, saved);
    const restored = await saveState(second.agent);
    await second.agent.call('请继续');

    expect(saved).toMatchObject({ interrupted: true, activeGroups: ['文件'] });
    expect(restored).toEqual(saved);
    expect(textsOf(requestOf(second.model, 0).messages)).toEqual([
      ...textsOf(await first.agent.messages()),
      '请继续',
    ]);
    expect((await saveState(second.agent)).interrupted).toBe(false);
  });

  test('an agent that was restored elsewhere sends the same bytes as the original', async () => {
    const history: readonly Msg[] = [
      userMessage([
        { type: 'text', text: '이것은?' },
        { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'QUJD' } },
      ]),
      ...toolTurn.slice(1),
    ];
    const bodies = async (make: (server: Wire) => ChatModel, reply: object[]): Promise<unknown> => {
      const [one, two] = [wire(reply), wire(reply)];
      const first = over(make(one), { memory: new InMemoryMemory(history) });
      const second = over(make(two), { memory: new SessionMemory(new MemoryStore(), '옮긴 곳') });
      await loadState(second, JSON.parse(JSON.stringify(await saveState(first))));
      await first.call('그래서?');
      await second.call('그래서?');
      return [one.bodies, two.bodies];
    };

    const [ai, same] = (await bodies(
      (server) => openAiOn(server, { sendThinking: true }),
      [...openAiSays({ content: '네' })],
    )) as unknown[];
    const [qwen, alike] = (await bodies(
      (server) => dashScopeOn(server, { model: 'qwen3-vl-plus' }),
      dashScopeSays({ content: [{ text: '네' }] }),
    )) as unknown[];

    expect(same).toEqual(ai);
    expect(alike).toEqual(qwen);
    expect(JSON.stringify([ai, qwen])).toContain('QUJD');
  });
});
