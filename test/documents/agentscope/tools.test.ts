import {
  MemoryStore,
  outputText,
  ReActAgent,
  SessionMemory,
  tool,
  toolMessage,
  toolResultsOf,
  type AgentHook,
  type JsonValue,
  type Msg,
} from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { contextToken, provide, Toolkit } from '@isoloop/core/tool';
import { agentscope } from '@isoloop/presets';
import { longTermMemory } from '@isoloop/recall';
import { loadState, saveState } from '@isoloop/core/state';
import { ScriptedModel } from '@isoloop/core/testing';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { eventsOf, gate, outputsOf } from '../test-support.ts';
import {
  calling,
  external,
  namesOf,
  noting,
  remembering,
  requestOf,
  setUp,
  type Options,
} from './test-support.ts';

describe('tools', () => {
  test('the checks of a tool call come in order: name, group, then arguments', async () => {
    const checked = (name: string, group?: string): ReturnType<typeof tool> =>
      tool({
        name,
        description: name,
        input: z.object({ 수량: z.number() }),
        ...(group && { group }),
        execute: () => 'never',
      });
    const toolkit = new Toolkit([checked('open'), checked('closed', '관리자')], {
      groups: [{ name: '관리자', description: '관리 도구', active: false }],
    });
    const wrong = { 수량: '하나' };
    const { agent, model } = setUp(
      [calling(['missing', wrong], ['closed', wrong], ['open', wrong]), '안 됩니다.'],
      { tools: toolkit },
    );

    await agent.call('실행해 줘');

    const results = requestOf(model, 1).messages.flatMap(toolResultsOf);
    expect(results.map(({ state }) => state)).toEqual(['error', 'error', 'error']);
    const [missing, closed, open] = results.map(({ output }) => outputText(output));
    expect(missing).toMatch(/^Error: Tool not found: missing/);
    expect(closed).toMatch(/^Error: Tool not available: closed.*관리자/);
    expect(open).toMatch(/^Error: .*"open".*수량/s);
  });

  test('a tool gets the arguments of the model, then presets, then values of its context', async () => {
    const user = contextToken<string>('用户');
    const ran: unknown[] = [];
    const query = tool({
      name: 'query',
      description: '查询',
      input: z.object({ 语句: z.string(), 库: z.string(), 行数: z.number() }),
      preset: { 库: '默认库', 行数: 10 },
      execute: (input, { get }) => void ran.push([input, get(user)]),
    });
    const { agent, model } = setUp([calling(['query', { 语句: '选', 库: '别的库' }]), '完。'], {
      tools: [query],
    });

    await agent.call('查', { toolContext: [provide(user, '小明')] });

    expect(ran).toEqual([[{ 语句: '选', 库: '别的库', 行数: 10 }, '小明']]);
    const { parameters } = requestOf(model, 0).tools[0] ?? {};
    expect(parameters).toMatchObject({ required: ['语句'] });
    expect(JSON.stringify(parameters)).not.toMatch(/库|行数/);
  });

  test('a value that a hook adds to the arguments counts before the preset', async () => {
    const { ran, tool: plain } = noting('plain');
    const query = tool({
      name: 'query',
      description: '조회',
      input: z.object({ 문장: z.string(), 지역: z.string() }),
      preset: { 지역: '서울' },
      execute: (input) => void ran.push(input),
    });
    const toBusan: AgentHook = {
      on: {
        'pre-acting': (event) => ({
          ...event,
          toolUse: { ...event.toolUse, input: { 문장: '바뀜', 지역: '부산' } },
        }),
      },
    };
    const { agent } = setUp([calling(['query', { 문장: '원래' }]), '끝.'], {
      tools: [query, plain],
      use: [toBusan],
    });

    await agent.call('조회해 줘');

    expect(ran).toEqual([{ 문장: '바뀜', 지역: '부산' }]);
  });

  test('a preset that changes between two rounds changes only its own value', async () => {
    const ran: unknown[] = [];
    const query = tool({
      name: 'query',
      description: '検索',
      input: z.object({ 語: z.string(), 店: z.string(), 鍵: z.string() }),
      preset: { 店: '東京', 鍵: '秘密の鍵' },
      execute: (input) => void ran.push(input),
    });
    const moving: AgentHook = {
      on: {
        'post-acting': () => {
          if (agent.tools instanceof Toolkit) agent.tools.updatePreset('query', { 店: '大阪' });
        },
      },
    };
    const { agent, model } = setUp(
      [calling(['query', { 語: '茶' }]), calling(['query', { 語: '茶' }]), 'はい。'],
      { tools: new Toolkit([query]), use: [moving] },
    );

    const events = await eventsOf(agent.stream('茶は?'));

    expect(ran).toEqual([
      { 語: '茶', 店: '東京', 鍵: '秘密の鍵' },
      { 語: '茶', 店: '大阪', 鍵: '秘密の鍵' },
    ]);
    expect(JSON.stringify([events, model.requests, await agent.messages()])).not.toContain('秘密');
  });

  test('a context value of the call counts before the one of the agent and of the toolkit', async () => {
    const [one, two, three] = ['甲', '乙', '丙'].map((name) => contextToken<string>(name));
    if (!one || !two || !three) throw new Error('A token is missing.');
    const read = tool({
      name: 'read',
      description: '读',
      input: { type: 'object' },
      execute: (_, { get }) => [get(one), get(two), get(three)].join(','),
    });
    const toolkit = new Toolkit([read], {
      toolContext: [one, two, three].map((token) => provide(token, '箱')),
    });
    const { agent } = setUp([calling(['read']), '完', calling(['read']), '完'], {
      tools: toolkit,
      toolContext: [provide(one, '人'), provide(two, '人')],
    });

    await agent.call('读', { toolContext: [provide(one, '次')] });
    await agent.call('再读');

    expect(outputsOf(await agent.messages())).toEqual(['次,人,箱', '人,人,箱']);
  });

  test('a tool without its context value fails, and the model reads why', async () => {
    const other = contextToken<string>('데이터베이스');
    const wanted = contextToken<string>('데이터베이스');
    const read = tool({
      name: 'read',
      description: '읽기',
      input: { type: 'object' },
      execute: (_, { get }) => get(wanted),
    });
    const { agent, model } = setUp([calling(['read']), '죄송합니다.'], {
      tools: [read],
      toolContext: [provide(other, '값')],
    });

    const { reason } = await agent.call('읽어 줘');

    expect(reason).toBe('stop');
    expect(outputsOf(requestOf(model, 1).messages)[0]).toMatch(/^Error: .*데이터베이스/);
  });

  test('hooks and readers get what a tool emits before its result, and the model never does', async () => {
    const seen: unknown[] = [];
    const emitting = tool({
      name: 'emit',
      description: '进度',
      input: { type: 'object' },
      execute: (_, { emit }) => {
        emit('正在处理一半');
        emit({ 进度: 100 });
        return '结果';
      },
    });
    const hook: AgentHook = {
      on: { 'acting-chunk': ({ chunk }) => void seen.push(chunk) },
    };
    const { agent, model } = setUp([calling(['emit']), '完。'], { tools: [emitting], use: [hook] });

    const events = await eventsOf(agent.stream('处理'));

    const acting = events.filter(({ type }) => type.includes('acting'));
    const order = ['pre-acting', 'acting-chunk', 'acting-chunk', 'post-acting'];
    expect(acting.map(({ type }) => type)).toEqual(order);
    expect(seen).toEqual(['正在处理一半', { 进度: 100 }]);
    expect(JSON.stringify([requestOf(model, 1), await agent.messages()])).not.toContain('处理一半');
  });

  test('a tool that suspends lets the other tools of the reply finish, and keeps its reason', async () => {
    const store = new MemoryStore();
    const { ran, tool: other } = noting('other', '다른 결과');
    const wait = tool({
      name: 'wait',
      description: '승인 대기',
      input: { type: 'object' },
      execute: (_, { suspend }) => suspend('관리자의 승인을 기다립니다.'),
    });
    const outside = external('outside');
    const options = (): Options => ({
      tools: [wait, other, outside],
      memory: new SessionMemory(store, '대화'),
    });
    const first = setUp([calling(['wait'], ['other'], ['outside'])], options());

    const suspended = await first.agent.call('시작');
    const [waiting, open] = suspended.pending;
    const second = setUp(['끝났습니다.'], options());
    const done = await second.agent.call([
      toolMessage({
        type: 'tool_result',
        toolUseId: open?.toolUseId ?? '',
        name: 'outside',
        output: '밖에서 온 결과',
        state: 'success',
      }),
      toolMessage({
        type: 'tool_result',
        toolUseId: waiting?.toolUseId ?? '',
        name: 'wait',
        output: '승인됨',
        state: 'success',
      }),
    ]);

    expect(suspended.pending.map(({ name, kind, reason }) => ({ name, kind, reason }))).toEqual([
      { name: 'wait', kind: 'suspended', reason: '관리자의 승인을 기다립니다.' },
      { name: 'outside', kind: 'external', reason: undefined },
    ]);
    expect(ran).toHaveLength(1);
    expect(done.text).toBe('끝났습니다.');
    const outputs = outputsOf(requestOf(second.model, 0).messages);
    expect(outputs).toEqual(['승인됨', '다른 결과', '밖에서 온 결과']);
  });

  test('a result is text as it is and other values as JSON, with no character escaped', async () => {
    const outputs = ['"引号"\n한글', { 도시: '서울', 기온: [18, null] }, 42, null, true, undefined];
    const tools = outputs.map((output, index) =>
      tool({
        name: `t${index}`,
        description: '결과',
        input: { type: 'object' },
        execute: async () => output,
      }),
    );
    const { agent } = setUp([calling(...tools.map(({ name }) => [name] as const)), '끝'], {
      tools,
    });

    await agent.call('모두');

    const expected = ['"引号"\n한글', '{"도시":"서울","기온":[18,null]}', '42', 'null', 'true', ''];
    expect(outputsOf(await agent.messages())).toEqual(expected);
  });

  test.each([
    ['fails the call', undefined, 'HOOK_ERROR'],
    ['changes nothing if it is ignored', 'ignore' as const, undefined],
  ])('an error of a hook at what a tool emits %s', async (_, onError, code) => {
    const emitting = tool({
      name: 'emit',
      description: '進捗',
      input: { type: 'object' },
      execute: (_input, { emit }) => void emit('半分'),
    });
    const failing: AgentHook = {
      ...(onError && { onError }),
      on: {
        'acting-chunk': () => {
          throw new Error('表示できない');
        },
      },
    };
    const { agent } = setUp([calling(['emit']), '完了。'], { tools: [emitting], use: [failing] });

    const { error, text } = await agent.call('始めて', { throwOnError: false });

    expect(error?.code).toBe(code);
    if (!code) expect(text).toBe('完了。');
  });

  test('what a tool emits after its end reaches nobody', async () => {
    let late = (): void => {};
    const emitting = tool({
      name: 'emit',
      description: '進捗',
      input: { type: 'object' },
      execute: (_, { emit }) => {
        emit('半分');
        late = () => emit('遅すぎる');
        return '終わり';
      },
    });
    const answer = (): string => {
      late();
      return '完了。';
    };
    const { agent } = setUp([calling(['emit']), answer], { tools: [emitting] });

    const events = await eventsOf(agent.stream('始めて'));

    const chunks = events.flatMap((event) => (event.type === 'acting-chunk' ? event.chunk : []));
    expect(chunks).toEqual(['半分']);
  });

  test('two tools that emit at the same time are told apart by their calls', async () => {
    let arrived = 0;
    const { open: release, opened: both } = gate();
    const tools = ['왼쪽', '오른쪽'].map((word, index) =>
      tool({
        name: `side${index}`,
        description: word,
        input: { type: 'object' },
        execute: async (_, { emit }) => {
          emit(`${word} 시작`);
          arrived += 1;
          if (arrived === 2) release();
          await both;
          emit(`${word} 끝`);
          return word;
        },
      }),
    );
    const { agent } = setUp([calling(['side0'], ['side1']), '끝.'], {
      tools,
      limits: { parallelTools: Infinity },
    });

    const events = await eventsOf(agent.stream('둘 다'));

    const [left, right] = events.flatMap((event) =>
      event.type === 'post-acting' ? event.toolUse.id : [],
    );
    const chunksOf = (id = ''): JsonValue[] =>
      events.flatMap((event) =>
        event.type === 'acting-chunk' && event.toolUseId === id ? [event.chunk] : [],
      );
    expect(chunksOf(left)).toEqual(['왼쪽 시작', '왼쪽 끝']);
    expect(chunksOf(right)).toEqual(['오른쪽 시작', '오른쪽 끝']);
  });

  test('an edited tool call keeps the preset, and the edit may replace it', async () => {
    const ran: unknown[] = [];
    const pay = tool({
      name: 'pay',
      description: '支払い',
      input: z.object({ 額: z.number(), 口座: z.string() }),
      preset: { 口座: '普通' },
      needsApproval: true,
      execute: (input) => void ran.push(input),
    });
    const { agent } = setUp([calling(['pay', { 額: 900 }], ['pay', { 額: 800 }]), '払いました。'], {
      tools: [pay],
    });

    const { pending } = await agent.call('払って');
    const [one, two] = pending.map(({ toolUseId }) => toolUseId);
    await agent.call([
      { toolUseId: one ?? '', type: 'edit', input: { 額: 1 } },
      { toolUseId: two ?? '', type: 'edit', input: { 額: 2, 口座: '当座' } },
    ]);

    expect(pending.map(({ input }) => input)).toEqual([{ 額: 900 }, { 額: 800 }]);
    expect(ran).toEqual([
      { 額: 1, 口座: '普通' },
      { 額: 2, 口座: '当座' },
    ]);
  });

  test('a tool that is removed while its call waits becomes an error at the resume', async () => {
    const wait = tool({
      name: 'wait',
      description: '等待',
      input: { type: 'object' },
      execute: (_, { suspend }) => suspend('等人'),
    });
    const { agent, model } = setUp([calling(['wait']), '没有了。'], { tools: new Toolkit([wait]) });

    const { pending } = await agent.call('等');
    (agent.tools as Toolkit).remove('wait');
    const { text } = await agent.call([
      { toolUseId: pending[0]?.toolUseId ?? '', type: 'approve' },
    ]);

    expect(text).toBe('没有了。');
    expect(outputsOf(requestOf(model, 1).messages)[0]).toMatch(/^Error: Tool not found: wait/);
  });

  test('a preset is in no saved state, and the call that waited gets the preset of its new agent', async () => {
    const ran: unknown[] = [];
    const options = (key: string): Options => ({
      tools: [
        tool({
          name: 'pay',
          description: '支付',
          input: z.object({ 额: z.number(), 密钥: z.string() }),
          preset: { 密钥: key },
          needsApproval: true,
          execute: (input) => void ran.push(input),
        }),
      ],
    });
    const first = setUp([calling(['pay', { 额: 5 }])], options('旧密钥'));
    const second = setUp(['付了。'], options('新密钥'));

    const { pending } = await first.agent.call('付五元');
    const saved = await saveState(first.agent);
    await loadState(second.agent, saved);
    await second.agent.call([{ toolUseId: pending[0]?.toolUseId ?? '', type: 'approve' }]);

    expect(JSON.stringify([saved, pending])).not.toContain('密钥');
    expect(ran).toEqual([{ 额: 5, 密钥: '新密钥' }]);
  });

  test('what a tool of an inner agent emits reaches the outer reader and none of the two models', async () => {
    const inner = new ScriptedModel([calling(['emit']), '中の答え']);
    const emitting = tool({
      name: 'emit',
      description: '進捗',
      input: { type: 'object' },
      execute: (_, { emit }) => {
        emit({ 進捗: '半分' });
        return '中の結果';
      },
    });
    const expert = agentTool(
      ({ sessionId }) =>
        new ReActAgent({
          name: 'expert',
          sessionId,
          model: inner,
          tools: [emitting],
          use: [agentscope()],
        }),
      { name: 'expert', description: '専門家' },
    );
    const { agent, model } = setUp([calling([expert.name, { message: 'やって' }]), '完了'], {
      tools: [expert],
    });

    const events = await eventsOf(agent.stream('始めて'));

    const progress = events.filter(({ type }) => type === 'acting-chunk');
    expect(progress).toMatchObject([{ chunk: { 進捗: '半分' }, agentPath: ['助手', 'expert'] }]);
    expect(JSON.stringify([inner.requests, model.requests])).not.toContain('進捗":"半分');
    expect(outputsOf(requestOf(model, 1).messages)[0]).toMatch(/\n\n中の答え$/);
  });

  test('a tool that a hook adds during a call is in the next request and runs', async () => {
    const { ran, tool: late } = noting('late', '나중');
    const adding: AgentHook = {
      on: {
        'post-acting': ({ toolUse }) => {
          if (toolUse.name === 'first') (agent.tools as Toolkit).add(late);
        },
      },
    };
    const { agent, model } = setUp([calling(['first']), calling(['late', { 값: 1 }]), '끝'], {
      tools: new Toolkit([noting('first').tool]),
      use: [adding],
    });

    await agent.call('시작');

    expect(model.requests.map(namesOf)).toEqual([['first'], ['first', 'late'], ['first', 'late']]);
    expect(ran).toEqual([{ 값: 1 }]);
  });

  test('a tool sees the messages that the model saw, with the prompt and the recalled text', async () => {
    const seen: (readonly Msg[])[] = [];
    const look = tool({
      name: 'look',
      description: '看',
      input: { type: 'object' },
      execute: (_, { messages }) => void seen.push(messages),
    });
    const { agent, model } = setUp([calling(['look']), '好'], {
      systemPrompt: '你是助手。',
      tools: [look],
      use: [longTermMemory({ memory: remembering('用户在北京。'), mode: 'auto' })],
    });

    await agent.call('看看');

    const sent = requestOf(model, 0).messages;
    expect(seen[0]?.slice(0, sent.length)).toEqual(sent);
  });
});
