import {
  assistantMessage,
  InMemoryMemory,
  toolMessage,
  toolUsesOf,
  userMessage,
  type ModelDelta,
  type Msg,
  type ToolContext,
} from '@isoloop/core';
import { todosOf } from '@isoloop/core/results';
import { expect, test } from 'vitest';
import { demoAgent } from '../../demo/src/demo-agent.ts';
import { offlineModel } from '../../demo/src/offline-model.ts';
import { plan } from '../../demo/src/offline/plan.ts';
import { evaluate } from '../../demo/src/tools/evaluate.ts';
import { notesTool, type Note } from '../../demo/src/tools/notes.ts';
import { timeInCity } from '../../demo/src/tools/time-in-city.ts';
import type { AccountStore } from '../../demo/src/tools/pay.ts';
import { aroundTool } from '../../demo/src/tools/around-tool.ts';

const toolContext = { toolUseId: 'call' } as ToolContext;

const noWait = aroundTool({ pace: 'fast' });

function account(coins = 100): AccountStore {
  let owned = coins;
  return {
    read: async () => owned,
    write: async (left) => void (owned = left),
  };
}

test.for([
  ['What is 17 * 23?', [['calculator', { expression: '17 * 23' }]]],
  ['(48 + 72) / 5는 얼마예요?', [['calculator', { expression: '(48 + 72) / 5' }]]],
  ['１２×（３＋４）は？', [['calculator', { expression: '12×(3+4)' }]]],
  ['The price (about 3 + 4) is fine', [['calculator', { expression: '3 + 4' }]]],
  ['What happened on 2026-11-21?', []],
  [
    'What time is it in Tokyo and São Paulo?',
    [
      ['time_in_city', { city: 'Tokyo' }],
      ['time_in_city', { city: 'São Paulo' }],
    ],
  ],
  [
    '东京和首尔现在几点？',
    [
      ['time_in_city', { city: '东京' }],
      ['time_in_city', { city: '首尔' }],
    ],
  ],
  ['I like Tokyo', []],
  ['note: call Ann at 5 + 5', [['notes', { action: 'add', text: 'call Ann at 5 + 5' }]]],
  ['メモ: 牛乳を買う', [['notes', { action: 'add', text: '牛乳を買う' }]]],
  ['记一下：买牛奶', [['notes', { action: 'add', text: '买牛奶' }]]],
  ['메모: 우유 사기', [['notes', { action: 'add', text: '우유 사기' }]]],
  ['show my notes', [['notes', { action: 'list' }]]],
  ['显示我的笔记', [['notes', { action: 'list' }]]],
  ['delete note 2', [['notes', { action: 'delete', id: 2 }]]],
  ['Pay 30 coins to Alice', [['pay', { to: 'Alice', coins: 30 }]]],
  ['アリスに30コイン払って', [['pay', { to: 'アリス', coins: 30 }]]],
  ['付给小王30个游戏币', [['pay', { to: '小王', coins: 30 }]]],
  ['민수에게 30코인 보내 줘', [['pay', { to: '민수', coins: 30 }]]],
  ['delete all my notes', [['notes', { action: 'list' }]]],
  ['Calculate 17 * 23 and save it to my notes', [['calculator', { expression: '17 * 23' }]]],
  ['ダークモードにして', [['set_theme', { theme: 'dark' }]]],
  [
    '6*7 and light mode please. note: done',
    [
      ['calculator', { expression: '6*7' }],
      ['notes', { action: 'add', text: 'done' }],
      ['set_theme', { theme: 'light' }],
    ],
  ],
  ['How are you?', []],
] as const)('the offline model plans the tool calls for %j', ([question, calls]) => {
  expect(plan(question).map(({ name, input }) => [name, input])).toEqual(calls);
});

test('the offline model limits the number of tool calls for pasted data', () => {
  expect(plan('1+1 '.repeat(1_000)).length).toBeLessThanOrEqual(12);
});

async function say(messages: readonly Msg[]): Promise<ModelDelta[]> {
  const tools = ['calculator', 'time_in_city', 'notes', 'set_theme'].map((name) => ({
    name,
    description: '',
    parameters: {},
  }));
  const deltas: ModelDelta[] = [];
  for await (const batch of offlineModel({ delayMs: 0 }).stream(
    { messages, tools },
    { signal: new AbortController().signal },
  ))
    deltas.push(...batch);
  return deltas;
}

const textOf = (deltas: readonly ModelDelta[]): string =>
  deltas.map((delta) => (delta.type === 'text' ? delta.delta : '')).join('');

test.for([
  ['Tell me a joke', /stand-in for a language model/],
  ['冗談を言って', /言語モデルの代わりに/],
  ['讲个笑话', /代替语言模型/],
  ['농담 하나 해 줘', /언어 모델 대신/],
] as const)(
  'the offline model describes itself if no rule fits the question %j',
  async ([question, words]) => {
    expect(textOf(await say([userMessage(question)]))).toMatch(words);
  },
);

test('the offline model answers with the error of one tool and the result of another tool', async () => {
  const result = (toolUseId: string, name: string, output: string, state: 'success' | 'error') =>
    toolMessage({ type: 'tool_result', toolUseId, name, output, state });
  const answer = await say([
    userMessage('What is 1/0 and what time is it in Oslo? 2+2'),
    assistantMessage([
      { type: 'tool_use', id: 'a', name: 'calculator', input: {} },
      { type: 'tool_use', id: 'b', name: 'calculator', input: {} },
    ]),
    result('a', 'calculator', 'Error: The result is not a finite number.', 'error'),
    result('b', 'calculator', '{"expression":"2+2","result":4}', 'success'),
  ]);
  expect(textOf(answer)).toBe('That did not work: The result is not a finite number.\n2+2 = 4.');
  expect(answer.at(-1)).toMatchObject({
    type: 'finish',
    usage: { outputTokens: expect.any(Number) },
  });
});

const kept: readonly Note[] = [
  { id: 1, text: 'buy 牛乳' },
  { id: 4, text: 'call Ann' },
];

test.for([
  ['Delete all my notes', 'Deleted: “buy 牛乳”.\nDeleted: “call Ann”.', []],
  [
    'Remove the note about Bob, please',
    'Your notes:\n1. buy 牛乳\n4. call Ann',
    ['buy 牛乳', 'call Ann'],
  ],
  ['Remove the note about ann, please', 'Deleted: “call Ann”.', ['buy 牛乳']],
  ['牛乳のメモを消して', 'メモを消しました：「buy 牛乳」', ['call Ann']],
  ['删除所有笔记', '已删除：“buy 牛乳”。\n已删除：“call Ann”。', []],
  ['모든 메모를 삭제해 줘', '메모를 지웠습니다: “buy 牛乳”\n메모를 지웠습니다: “call Ann”', []],
  [
    'What is 17 * 23? Note the result.',
    '17 * 23 = 391.\nNoted: “17 * 23 = 391.”.',
    ['buy 牛乳', 'call Ann', '17 * 23 = 391.'],
  ],
  [
    '6*7 を計算してメモして',
    '6*7 = 42 です。\nメモしました：「6*7 = 42 です。」',
    ['buy 牛乳', 'call Ann', '6*7 = 42 です。'],
  ],
  [
    'What is 1/0? Note the result.',
    'That did not work: The result is not a finite number.',
    ['buy 牛乳', 'call Ann'],
  ],
] as const)(
  'the offline model calls further tools after the first results if needed: %s',
  async ([question, answer, left]) => {
    let notes = kept;
    const store = {
      read: async () => notes,
      write: async (changed: readonly Note[]) => void (notes = changed),
    };
    const agent = demoAgent({
      model: offlineModel({ delayMs: 0 }),
      memory: new InMemoryMemory(),
      sessionId: 's',
      notes: store,
      account: account(),
      pace: 'fast',
    });
    const { text, pending } = await agent.call(question);
    // Deleting a note needs an approval.
    const allowed = pending.map(
      ({ toolUseId, name }) => ({ type: 'approve', toolUseId, name }) as const,
    );
    expect(allowed.length ? (await agent.call(allowed)).text : text).toBe(answer);
    expect(notes.map(({ text: note }) => note)).toEqual(left);
  },
);

test.for([
  ['Delete all my notes', 'All right, it stays as it is.'],
  ['メモを全部消して', 'わかりました。そのままにしておきます。'],
  ['删除所有笔记', '好的，保持不变。'],
  ['모든 메모를 삭제해 줘', '알겠습니다. 그대로 두겠습니다.'],
] as const)(
  'the notes tool changes nothing if the user denies the call: %s',
  async ([question, answer]) => {
    let written = 0;
    const store = { read: async () => kept, write: async () => void (written += 1) };
    const agent = demoAgent({
      model: offlineModel({ delayMs: 0 }),
      memory: new InMemoryMemory(),
      sessionId: 's',
      notes: store,
      account: account(),
      pace: 'fast',
    });
    const { pending } = await agent.call(question);
    expect(pending).toHaveLength(2);
    const denied = await agent.call(
      pending.map(({ toolUseId, name }) => ({ type: 'reject', toolUseId, name }) as const),
    );
    expect([denied.text, written]).toEqual([answer, 0]);
  },
);

test('an abort ends the wait of the offline model between deltas', async () => {
  const controller = new AbortController();
  const stream = offlineModel({ delayMs: 1_000_000 }).stream(
    { messages: [userMessage('hi')], tools: [] },
    { signal: controller.signal },
  );
  const reading = stream[Symbol.asyncIterator]().next();
  controller.abort(new Error('enough'));
  await expect(reading).rejects.toThrow('enough');
});

test.for([
  ['1 + 2 * 3', 7],
  ['(1 + 2) * 3', 9],
  ['2 ^ 3 ^ 2', 512],
  ['-2 ^ 2', -4],
  ['10 - 4 - 3', 3],
  ['7 % 4 * 2', 6],
  ['1,234,567 + 1', 1_234_568],
  ['0.1 + 0.2', 0.3],
  ['１２÷３', 4],
] as const)('evaluate() calculates %s = %d', ([expression, value]) => {
  expect(evaluate(expression)).toBe(value);
});

test.for(['1 +', '(1', '1 2', 'a + 1', '1 / 0', ')', ''])(
  'evaluate() rejects the invalid expression %j',
  (expression) => {
    expect(() => evaluate(expression)).toThrow();
  },
);

test('time_in_city returns the time of a city for each of its names', async () => {
  const tool = timeInCity(noWait, () => Date.UTC(2026, 0, 1, 15, 30));
  const run = (city: string) => tool.execute!({ city }, toolContext);
  expect(await run('東京')).toEqual({
    city: '東京',
    zone: 'Asia/Tokyo',
    weekday: 'Friday',
    time: '00:30',
  });
  expect(await run('new york')).toMatchObject({ weekday: 'Thursday', time: '10:30' });
  await expect(run('Atlantis')).rejects.toThrow('Atlantis');
});

test('the notes tool keeps all notes that are added at the same time', async () => {
  let stored: readonly Note[] = [];
  const tool = notesTool(
    {
      read: async () => stored,
      write: async (notes) => void (stored = notes),
    },
    noWait,
  );
  const run = (input: object) => tool.execute!(input, toolContext);
  await Promise.all(['a', 'b', 'c'].map((text) => run({ action: 'add', text })));
  expect(stored.map(({ id, text }) => `${id} ${text}`)).toEqual(['1 a', '2 b', '3 c']);
  await run({ action: 'delete', id: 2 });
  expect(await run({ action: 'list' })).toEqual({
    notes: [
      { id: 1, text: 'a' },
      { id: 3, text: 'c' },
    ],
  });
  await expect(run({ action: 'delete', id: 9 })).rejects.toThrow('no note 9');
});

test('a payment waits for a person, who can change it, and it cannot exceed the account', async () => {
  const own = account();
  const agent = demoAgent({
    model: offlineModel({ delayMs: 0 }),
    memory: new InMemoryMemory(),
    sessionId: 's',
    notes: { read: async () => [], write: async () => {} },
    account: own,
    pace: 'fast',
  });
  const { pending } = await agent.call('Pay 30 coins to Alice');
  const toolUseId = pending[0]!.toolUseId;
  expect(await own.read()).toBe(100);
  const edit = { type: 'edit', toolUseId, input: { to: 'Alice', coins: 25 } } as const;
  expect((await agent.call([edit])).text).toBe('Paid 25 coins to Alice. 75 are left.');
  const second = await agent.call('Pay 80 coins to Bob');
  const approve = { type: 'approve', toolUseId: second.pending[0]!.toolUseId } as const;
  expect((await agent.call([approve])).text).toContain('The account has only 75 coins.');
  expect(await own.read()).toBe(75);
});

test.for([
  ['How do you survive a killed worker?', 'no finished tool runs twice'],
  ['ワーカーが落ちても続くのはなぜ？', '二度動くことはありません'],
  ['Worker 崩溃了怎么办？', '不会运行第二次'],
  ['워커가 죽어도 어떻게 살아남아?', '두 번 실행되지 않습니다'],
])('the offline model explains how a run survives: %s', async ([question, words]) => {
  const agent = demoAgent({
    model: offlineModel({ delayMs: 0 }),
    memory: new InMemoryMemory(),
    sessionId: 's',
    notes: { read: async () => [], write: async () => {} },
    account: account(),
    pace: 'fast',
  });
  expect((await agent.call(question)).text).toContain(words);
});

test('a question that starts with “Plan:” writes a to-do list, does one task after the other, and ticks each off', async () => {
  const memory = new InMemoryMemory();
  const agent = demoAgent({
    model: offlineModel({ delayMs: 0 }),
    memory,
    sessionId: 'plan',
    notes: { read: async () => [], write: async () => {} },
    account: account(),
    pace: 'fast',
  });
  const { text } = await agent.call('Plan: work out 2 + 3, then find the time in Tokyo');
  const messages = await memory.read();
  const calls = messages.flatMap(toolUsesOf).map(({ name }) => name);
  expect(calls).toEqual([
    'write_todos',
    'calculator',
    'write_todos',
    'time_in_city',
    'write_todos',
  ]);
  expect(todosOf(messages)).toEqual([
    { content: 'Work out 2 + 3', status: 'completed' },
    { content: 'Look up the time in Tokyo', status: 'completed' },
  ]);
  expect(text).toMatch(/^2 \+ 3 = 5\.\nIn Tokyo it is/);
});
