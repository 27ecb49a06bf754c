// Checks of what AgentScope's document says about the parts of an agent: messages, tools, memory,
// state, structured output and wire formats.
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import {
  agentTool,
  assistantMessage,
  InMemoryMemory,
  MemoryStore,
  outputText,
  ReActAgent,
  SessionMemory,
  systemMessage,
  textOf,
  tool,
  toolMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
  type AgentEvent,
  type AgentHook,
  type AgentOptions,
  type AgentResult,
  type ChatModel,
  type Decision,
  type JsonValue,
  type Memory,
  type Middleware,
  type ModelRequest,
  type Msg,
} from '@isoloop/core';
import { dashscope, type DashScopeOptions } from '@isoloop/core/dashscope';
import { openai, type Fetch, type OpenAiOptions } from '@isoloop/core/openai';
import { structured } from '@isoloop/core/output';
import { agentscope } from '@isoloop/core/presets';
import { multiAgent } from '@isoloop/core/prompt';
import {
  longTermMemory,
  retrieval,
  type LongTermMemory,
  type RetrievedDocument,
} from '@isoloop/core/recall';
import { loadState, saveState } from '@isoloop/core/state';
import { ScriptedModel, type ScriptedReply, type ScriptedStep } from '@isoloop/core/testing';
import { contextToken, metaTool, provide, Toolkit } from '@isoloop/core/tools';

type Options = Partial<Omit<AgentOptions, 'model'>>;
type Made = Readonly<{ agent: ReActAgent; model: ScriptedModel }>;

/** Returns an agent with the preset, over a model with these replies. */
function made(replies: readonly ScriptedReply[], { use = [], ...options }: Options = {}): Made {
  const model = new ScriptedModel(replies);
  const agent = new ReActAgent({ name: '助手', ...options, model, use: [agentscope(), ...use] });
  return { agent, model };
}

const memories: readonly (readonly [string, () => Memory])[] = [
  ['in memory', () => new InMemoryMemory()],
  ['in a session', () => new SessionMemory(new MemoryStore(), '会话')],
];

/** Returns one reply with these tool calls. */
function calling(...calls: readonly (readonly [name: string, input?: JsonValue])[]): ScriptedStep {
  return { toolCalls: calls.map(([name, input = {}]) => ({ name, input })) };
}

/** Creates a tool that records its arguments and answers with a text. */
function noting(name: string, output = '好'): { ran: unknown[]; tool: ReturnType<typeof tool> } {
  const ran: unknown[] = [];
  const noted = tool({
    name,
    description: name,
    input: { type: 'object' },
    execute: (input) => {
      ran.push(input);
      return output;
    },
  });
  return { ran, tool: noted };
}

/** Creates a tool whose results come from outside. */
const external = (name: string): ReturnType<typeof tool> =>
  tool({ name, description: name, input: { type: 'object' } });

/** Returns a result for the only pending tool call. */
const given = ({ pending }: AgentResult, output: string): readonly Decision[] => [
  { toolUseId: pending[0]?.toolUseId ?? '', type: 'result', output },
];

const requestOf = (model: ScriptedModel, index: number): ModelRequest => {
  const request = model.requests[index];
  if (!request) throw new Error(`There is no request ${index}.`);
  return request;
};
const rolesOf = (messages: readonly Msg[]): string[] => messages.map(({ role }) => role);
const textsOf = (messages: readonly Msg[]): string[] => messages.map((message) => textOf(message));
const outputsOf = (messages: readonly Msg[]): string[] =>
  messages.flatMap(toolResultsOf).map(({ output }) => outputText(output));
const namesOf = ({ tools }: ModelRequest): string[] => tools.map(({ name }) => name);

async function eventsOf(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

interface Remembering extends LongTermMemory {
  readonly queries: string[];
  readonly recorded: (readonly Msg[])[];
}

function remembering(...texts: readonly string[]): Remembering {
  const queries: string[] = [];
  const recorded: (readonly Msg[])[] = [];
  const nothing = async (): Promise<void> => {};
  return {
    queries,
    recorded,
    retrieve: async (query) => {
      queries.push(query);
      return texts.map((text, index) => ({
        id: `记录${index}`,
        text,
        sessionId: '旧会话',
        createdAt: '2026-01-01T00:00:00.000Z',
      }));
    },
    record: async (messages) => void recorded.push(messages),
    delete: nothing,
    deleteSession: nothing,
    clear: nothing,
  };
}

interface Wire {
  readonly fetch: Fetch;
  readonly bodies: Record<string, unknown>[];
}

/** Creates a server that streams these chunks, one list for each request. */
function wire(...replies: readonly (readonly object[])[]): Wire {
  const bodies: Record<string, unknown>[] = [];
  const fetch: Fetch = async (_url, { body }) => {
    const chunks = replies[bodies.length] ?? [];
    bodies.push(JSON.parse(String(body)) as Record<string, unknown>);
    const lines = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
    return new Response(lines.join('') + 'data: [DONE]\n\n', {
      headers: { 'content-type': 'text/event-stream' },
    });
  };
  return { fetch, bodies };
}

const openAiSays = (delta: object, finish = 'stop'): object[] => [
  { choices: [{ index: 0, delta }] },
  { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
];
const dashScopeSays = (...messages: readonly object[]): object[] => [
  ...messages.map((message) => ({
    output: { choices: [{ message: { role: 'assistant', ...message }, finish_reason: 'null' }] },
  })),
  { output: { choices: [{ message: { role: 'assistant', content: '' }, finish_reason: 'stop' }] } },
];
const openAiOn = ({ fetch }: Wire, options: Partial<OpenAiOptions> = {}): ChatModel =>
  openai({ model: 'gpt-5', baseURL: 'https://models.example/v1', fetch, ...options });
const dashScopeOn = ({ fetch }: Wire, options: Partial<DashScopeOptions> = {}): ChatModel =>
  dashscope({ model: 'qwen-plus', fetch, ...options });
/** Returns an agent with the preset over any model. */
const over = (model: ChatModel, options: Options = {}): ReActAgent =>
  new ReActAgent({ name: '助手', use: [agentscope()], ...options, model });

type WireMessage = Readonly<Record<string, unknown>>;
const sentTo = (server: Wire, index: number): readonly WireMessage[] =>
  server.bodies[index]?.['messages'] as readonly WireMessage[];
const inputTo = (server: Wire, index: number): readonly WireMessage[] =>
  (server.bodies[index]!['input'] as { messages: readonly WireMessage[] }).messages;

const parametersTo = (server: Wire, index: number): WireMessage =>
  server.bodies[index]!['parameters'] as WireMessage;

/** A conversation in which the model thought, called a tool and read two outputs. */
const toolTurn: readonly Msg[] = [
  userMessage('서울 날씨는?', { name: '민수' }),
  assistantMessage(
    [
      { type: 'thinking', thinking: '需要查询天气。' },
      { type: 'tool_use', id: 'c1', name: 'weather', input: { 城市: '서울' } },
    ],
    { name: '助手' },
  ),
  toolMessage({
    type: 'tool_result',
    toolUseId: 'c1',
    name: 'weather',
    output: [
      { type: 'text', text: '맑음' },
      { type: 'text', text: '18도' },
    ],
    state: 'success',
  }),
  assistantMessage('맑고 18도입니다.', { name: '助手' }),
];

describe('messages', () => {
  test('a request has the prompt, the recalled text, the history and then the question', async () => {
    const memory = remembering('用户喜欢龙井茶。');
    const { agent, model } = made(['好的。', '龙井茶。'], {
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
    const { agent, model } = made([calling(['look']), calling(['look']), 'モモです。'], {
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
    const { agent, model } = made(['네.'], { systemPrompt: '\u3000\n \t' });

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
      const { agent } = made(['はい。'], { memory, use: [looking] });

      await agent.call([userMessage('一つ目'), userMessage('二つ目')]);

      expect(stored).toEqual([['一つ目', '二つ目']]);
    },
  );

  test('a stored reply has its thinking and text as they streamed, and then its tool calls', async () => {
    const { agent, model } = made(
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
    const { agent } = made(['고양이.'], { memory });

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
    let release = (): void => {};
    const slow = new Promise<void>((resolve) => (release = resolve));
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
    const { agent } = made([calling(['slow'], ['fast']), '完。'], {
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
      const { agent, model } = made(
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
    const first = made([words], { memory: new SessionMemory(store, '𠮷') });
    const second = made(['네'], { memory: new SessionMemory(store, '𠮷') });

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
      const { agent } = made(
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
    const { agent, model } = made(
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
    const { agent, model } = made([calling(['query', { 语句: '选', 库: '别的库' }]), '完。'], {
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
    const { agent } = made([calling(['query', { 문장: '원래' }]), '끝.'], {
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
    const { agent, model } = made(
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
      context: [one, two, three].map((token) => provide(token, '箱')),
    });
    const { agent } = made([calling(['read']), '完', calling(['read']), '完'], {
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
    const { agent, model } = made([calling(['read']), '죄송합니다.'], {
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
    const { agent, model } = made([calling(['emit']), '完。'], { tools: [emitting], use: [hook] });

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
    const first = made([calling(['wait'], ['other'], ['outside'])], options());

    const suspended = await first.agent.call('시작');
    const [waiting, open] = suspended.pending;
    const second = made(['끝났습니다.'], options());
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
    const { agent } = made([calling(...tools.map(({ name }) => [name] as const)), '끝'], { tools });

    await agent.call('모두');

    const expected = ['"引号"\n한글', '{"도시":"서울","기온":[18,null]}', '42', 'null', 'true', ''];
    expect(outputsOf(await agent.messages())).toEqual(expected);
  });

  const twoGroups = (): Toolkit =>
    new Toolkit(
      [
        metaTool(),
        ...['网络', '文件'].map((group, index) =>
          tool({
            name: ['search', 'open'][index] ?? '',
            description: group,
            input: { type: 'object' },
            group,
            execute: () => `${group}结果`,
          }),
        ),
      ],
      {
        groups: [
          { name: '网络', description: '在网上查找', active: false },
          { name: '文件', description: '读取文件', active: false },
        ],
      },
    );

  test('the tool for groups adds groups round by round and never switches one off', async () => {
    const { agent, model } = made(
      [
        calling(['switch_tool_groups', { groups: ['网络'] }]),
        calling(['switch_tool_groups', { groups: ['文件'] }]),
        '好。',
      ],
      { tools: twoGroups() },
    );

    await agent.call('准备工具');

    expect(model.requests.map(namesOf)).toEqual([
      ['switch_tool_groups'],
      ['switch_tool_groups', 'search'],
      ['switch_tool_groups', 'search', 'open'],
    ]);
    const [first, last] = outputsOf(await agent.messages());
    expect(first).not.toContain('读取文件');
    expect(last).toMatch(/在网上查找.*读取文件/s);
  });

  test('an unknown group in a call of the tool for groups is an error, and no group changes', async () => {
    const { agent, model } = made(
      [calling(['switch_tool_groups', { groups: ['文件', '没有'] }]), '没有这个组。'],
      { tools: twoGroups() },
    );

    await agent.call('打开');

    const [result] = requestOf(model, 1).messages.flatMap(toolResultsOf);
    expect(result?.state).toBe('error');
    expect(namesOf(requestOf(model, 1))).toEqual(['switch_tool_groups']);
  });

  test('one at a time, a tool call runs after the call of the same reply that adds its group', async () => {
    const { agent, model } = made(
      [calling(['search'], ['switch_tool_groups', { groups: ['网络'] }], ['search']), '好。'],
      { tools: twoGroups() },
    );

    await agent.call('查');

    const [early, , late] = outputsOf(requestOf(model, 1).messages);
    expect(early).toMatch(/^Error: Tool not available: search/);
    expect(late).toBe('网络结果');
  });

  test('each agent has its own copy of a toolkit, in groups, presets and tools', async () => {
    const toolkit = twoGroups();
    toolkit.add(
      tool({
        name: 'query',
        description: '查询',
        input: z.object({ 库: z.string() }),
        preset: { 库: '甲' },
        execute: ({ 库 }) => 库,
      }),
    );
    const [one, two] = [1, 2].map(() => made([calling(['query']), '完'], { tools: toolkit }));
    const own = one?.agent.tools as Toolkit;

    own.updateGroups(['文件'], true);
    own.updatePreset('query', { 库: '乙' });
    toolkit.add(tool({ name: 'late', description: '晚', input: { type: 'object' } }));
    await one?.agent.call('查');
    await two?.agent.call('查');

    const asked = [one, two].map((each) => each && namesOf(requestOf(each.model, 0)));
    expect(asked).toEqual([
      ['switch_tool_groups', 'open', 'query'],
      ['switch_tool_groups', 'query'],
    ]);
    const read = [one, two].map((each) => each && outputsOf(requestOf(each.model, 1).messages));
    expect(read).toEqual([['乙'], ['甲']]);
    expect(toolkit.activeGroups()).toEqual([]);
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
    const { agent } = made([calling(['emit']), '完了。'], { tools: [emitting], use: [failing] });

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
    const { agent } = made([calling(['emit']), answer], { tools: [emitting] });

    const events = await eventsOf(agent.stream('始めて'));

    const chunks = events.flatMap((event) => (event.type === 'acting-chunk' ? event.chunk : []));
    expect(chunks).toEqual(['半分']);
  });

  test('two tools that emit at the same time are told apart by their calls', async () => {
    let arrived = 0;
    let release = (): void => {};
    const both = new Promise<void>((resolve) => (release = resolve));
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
    const { agent } = made([calling(['side0'], ['side1']), '끝.'], {
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

  test('an approved tool call does not run if its group was switched off meanwhile', async () => {
    const ran: unknown[] = [];
    const pay = tool({
      name: 'pay',
      description: '결제',
      input: { type: 'object' },
      group: '결제',
      needsApproval: true,
      execute: (input) => void ran.push(input),
    });
    const { agent, model } = made([calling(['pay', { 금액: 5 }]), '결제하지 못했습니다.'], {
      tools: new Toolkit([pay], { groups: [{ name: '결제', description: '결제 도구' }] }),
    });

    const { pending } = await agent.call('결제해 줘');
    agent.tools.setActiveGroups?.([]);
    await agent.call([{ toolUseId: pending[0]?.toolUseId ?? '', type: 'approve' }]);

    expect(ran).toEqual([]);
    expect(outputsOf(requestOf(model, 1).messages)[0]).toMatch(/^Error: Tool not available: pay/);
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
    const { agent } = made([calling(['pay', { 額: 900 }], ['pay', { 額: 800 }]), '払いました。'], {
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
    const { agent, model } = made([calling(['wait']), '没有了。'], { tools: new Toolkit([wait]) });

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
    const first = made([calling(['pay', { 额: 5 }])], options('旧密钥'));
    const second = made(['付了。'], options('新密钥'));

    const { pending } = await first.agent.call('付五元');
    const saved = await saveState(first.agent);
    await loadState(second.agent, saved);
    await second.agent.call([{ toolUseId: pending[0]?.toolUseId ?? '', type: 'approve' }]);

    expect(JSON.stringify([saved, pending])).not.toContain('密钥');
    expect(ran).toEqual([{ 额: 5, 密钥: '新密钥' }]);
  });

  test('a hook that switches a group off at one tool call stops the next one of the reply', async () => {
    const { ran, tool: free } = noting('free');
    const grouped = tool({
      name: 'grouped',
      description: '묶음',
      input: { type: 'object' },
      group: '묶음',
      execute: (input) => void ran.push(input),
    });
    const closing: AgentHook = {
      on: { 'pre-acting': () => void agent.tools.setActiveGroups?.([]) },
    };
    const { agent, model } = made([calling(['free'], ['grouped']), '하나만 했습니다.'], {
      tools: new Toolkit([free, grouped], { groups: [{ name: '묶음', description: '묶음' }] }),
      use: [closing],
    });

    await agent.call('둘 다');

    const [first, second] = outputsOf(requestOf(model, 1).messages);
    expect(first).toBe('好');
    expect(second).toMatch(/^Error: Tool not available: grouped/);
    expect(ran).toHaveLength(1);
  });

  test('the list of allowed tools also holds for a group that the model activates', async () => {
    const { agent, model } = made(
      [
        calling(['switch_tool_groups', { groups: ['网络', '文件'] }]),
        calling(['open']),
        '好。',
        '好',
      ],
      { tools: twoGroups() },
    );

    await agent.call('打开', { allowTools: ['switch_tool_groups', 'search'] });
    await agent.call('现在呢?');

    expect(namesOf(requestOf(model, 1))).toEqual(['switch_tool_groups', 'search']);
    expect(outputsOf(requestOf(model, 2).messages)[1]).toMatch(/^Error: Tool not allowed: open/);
    expect(namesOf(requestOf(model, 3))).toEqual(['switch_tool_groups', 'search', 'open']);
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
    const { agent, model } = made([calling([expert.name, { message: 'やって' }]), '完了'], {
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
    const { agent, model } = made([calling(['first']), calling(['late', { 값: 1 }]), '끝'], {
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
    const { agent, model } = made([calling(['look']), '好'], {
      systemPrompt: '你是助手。',
      tools: [look],
      use: [longTermMemory({ memory: remembering('用户在北京。'), mode: 'auto' })],
    });

    await agent.call('看看');

    const sent = requestOf(model, 0).messages;
    expect(seen[0]?.slice(0, sent.length)).toEqual(sent);
  });

  test('an agent as a tool belongs to a group like any tool, and the model can activate it', async () => {
    const expert = agentTool(
      ({ sessionId }) =>
        new ReActAgent({ name: 'expert', sessionId, model: new ScriptedModel(['専門の答え']) }),
      { name: 'expert', description: '専門家', group: '専門' },
    );
    const { agent, model } = made(
      [
        calling(['switch_tool_groups', { groups: ['専門'] }]),
        calling([expert.name, { message: '聞く' }]),
        '完了',
      ],
      {
        tools: new Toolkit([metaTool(), expert], {
          groups: [{ name: '専門', description: '専門家', active: false }],
        }),
      },
    );

    await agent.call('専門家に');

    expect(namesOf(requestOf(model, 0))).toEqual(['switch_tool_groups']);
    expect(outputsOf(requestOf(model, 2).messages)[1]).toMatch(/専門の答え$/);
  });
});

describe('memory', () => {
  test.each(memories)('a deleted message is in no later request, %s', async (_, of) => {
    const memory = of();
    const { agent, model } = made(['一', '二', '三'], { memory });

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
    const { agent } = made(['杭州。'], { use: [longTermMemory({ memory })] });

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
    const { agent } = made(['写 一 首 很 长 的 诗', '好的。'], { use: [remember] });

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
      const { agent } = made(['价格 是 多少 呢', '十元人民币。'], {
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
    const { agent } = made([calling(['outside']), '予約しました。'], {
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
    const { agent, model } = made(['九点。'], {
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
    const { agent, model } = made(['はい。', 'はい。'], {
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
    const { agent, model } = made([calling(['outside']), '화요일입니다.'], {
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
    const { agent, model } = made(['네', '네'], {
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
    const { agent } = made(
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
    const { agent, model } = made([calling(['outside']), '二階です。'], {
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
    const { agent, model } = made([calling(['look'], ['look']), '두 번.', '네.'], {
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
    const { agent, model } = made([calling(['ask']), '처음부터.'], {
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
    const { agent } = made(['モモです。'], { use: [remember] });

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
    const { agent, model } = made(['네'], { use: [base('law', 'auto'), base('tax', 'auto')] });

    await agent.call('찾아');

    const texts = textsOf(requestOf(model, 0).messages);
    expect(texts).toHaveLength(3);
    expect(texts[0]).toContain('law의 문서');
    expect(texts[1]).toContain('tax의 문서');
    const use = [base('law', 'tool', 'search'), base('tax', 'tool', 'search')];
    expect(() => made([], { use })).toThrow(/"search"/);
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
    const first = made(['慢 慢 说 话'], { tools: kit() });
    (first.agent.tools as Toolkit).setActiveGroups(['文件']);
    for await (const { type } of first.agent.stream('你好')) {
      if (type === 'reasoning-chunk') first.agent.interrupt('操作已取消');
    }

    const saved = JSON.parse(JSON.stringify(await saveState(first.agent))) as JsonValue;
    const second = made(['继续。'], {
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

describe('structured output', () => {
  const Trip = z.object({ 城市: z.string().min(1), 天数: z.number().int().positive() });
  const trip = { 城市: '京都', 天数: 3 };

  test.each(memories)(
    'a text without the tool gets a reminder that leaves no trace, %s',
    async (_, of) => {
      const { agent, model } = made(
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
    const { agent } = made(['京都へ三日。', calling(['generate_response', trip])], {
      use: [remember],
    });

    await agent.call('旅行の計画', { output: structured(Trip) });
    await remember.settled();

    expect(memory.recorded.map(textsOf)).toEqual([['旅行の計画', JSON.stringify(trip)]]);
  });

  test('a call for a value that waits for a tool gives the value when it continues', async () => {
    const outside = external('outside');
    const output = structured(Trip);
    const { agent } = made(
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
    const first = made(
      [
        calling(['switch_tool_groups', { groups: ['网络'] }]),
        '京都。',
        calling(['generate_response', trip]),
      ],
      options(),
    );
    const second = made(['在。'], options());

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
    const first = made(['我去查。'], { name: '小红' });
    const answer = (await first.agent.call('谁去查?')).message;
    const server = wire(openAiSays({ content: '好' }));
    const second = over(multiAgent(openAiOn(server)), {
      use: [agentscope(), longTermMemory({ memory: remembering('小红很勤快。'), mode: 'auto' })],
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
