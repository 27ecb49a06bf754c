import { describe, expect, test } from 'vitest';
import vectors from '@test/fixtures/golden/oxygent-history.json?raw';
import {
  ReActAgent,
  assistantMessage,
  createMessage,
  userMessage,
  textOf,
  type Msg,
  type Role,
  tool,
} from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { textToolCalls } from '@isoloop/core/text-protocol';
import { arc } from '@isoloop/core/tokens';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { type FittedContext, lastTurns } from '@isoloop/core/context';
import { weightedHistory, type WeightedHistoryOptions } from './weighted-history.ts';
import { oxygentHistory } from './oxygent-history.ts';

interface GoldenMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

interface Golden {
  readonly rows: readonly {
    readonly query: string;
    readonly answer: string;
    readonly react_memory: readonly GoldenMessage[];
  }[];
  readonly memoryMaxTokens: number;
  readonly weightShort: number;
  readonly weightReact: number;
  readonly messages: readonly (readonly [role: Role, text: string])[];
}

const golden: readonly Golden[] = JSON.parse(vectors);

type Lines = readonly (readonly [role: Role, text: string])[];

/**
 * Makes a turn of each row. The user message of each turn has the id of the turn’s run, as in a
 * log.
 */
function logOf(rows: Golden['rows']): readonly Msg[] {
  return rows.flatMap(({ query, answer, react_memory: steps }, row) =>
    [
      { role: 'user' as const, content: query },
      ...steps,
      { role: 'assistant' as const, content: answer },
    ].map(({ role, content }) =>
      createMessage(role, content, {
        ...(role === 'user' && { metadata: { runId: `run${row}` } }),
      }),
    ),
  );
}

function shown(
  history: readonly Msg[],
  options?: WeightedHistoryOptions,
  policy = weightedHistory,
): Lines {
  const question = userMessage('now', { metadata: { runId: 'current' } });
  const messages = [...history, question];
  const fitted = policy(options).fit({
    messages,
    questionId: question.id,
    tools: [],
  }) as FittedContext;
  expect(fitted.messages.at(-1)).toBe(question);
  expect(fitted.removed).toBe(messages.length - fitted.messages.length);
  return fitted.messages.slice(0, -1).map((message) => [message.role, textOf(message)]);
}

const rows = golden[0]!.rows;

describe('OxyGent', () => {
  test('the vectors cover eleven caps and both weights', () => {
    expect(golden).toHaveLength(17);
    expect(new Set(golden.map(({ memoryMaxTokens }) => memoryMaxTokens)).size).toBe(11);
  });

  test.for(golden)('cap $memoryMaxTokens, weights $weightShort and $weightReact', (vector) => {
    const {
      memoryMaxTokens: max,
      weightShort: shortWeight,
      weightReact: reactWeight,
      messages,
    } = vector;
    const options = { max, shortWeight, reactWeight };
    expect(shown(logOf(vector.rows), options, oxygentHistory)).toEqual(messages);
  });

  test('a step whose question was removed appears after the previous question', () => {
    const values: Readonly<Record<number, number>> = { 1: 9, 9: 8 };
    const order = (position: number): number => values[position] ?? 0;
    const orphan = shown(logOf(rows), { max: 12, order, reactWeight: 5 }, oxygentHistory);
    expect(orphan.map(([, text]) => text)).toEqual(['q0', 'c2.2', 'o2.2', 'a0']);
  });

  test('the default cap is 24,800 code points, and an `order` that prefers the oldest turns keeps the oldest turns', () => {
    const pair = (n: number, length: number): Golden['rows'][number] => ({
      query: '🦊'.repeat(length),
      answer: String(n),
      react_memory: [],
    });
    const log = logOf([pair(1, 12_399), pair(2, 12_399)]);
    expect(shown(log, {}, oxygentHistory)).toHaveLength(4);
    const longer = shown(logOf([pair(1, 12_400), pair(2, 12_399)]), {}, oxygentHistory);
    expect(longer.map(([, text]) => text.slice(0, 2))).toEqual(['🦊', '2']);
    const oldestFirst = { max: 4, order: (position: number) => 1 / position };
    const oldest = shown(logOf(rows), oldestFirst, oxygentHistory);
    expect(oldest.map(([, text]) => text)).toEqual(['q0', 'a0']);
  });
});

test('by default a piece that does not fit is skipped, and a step is kept only together with its question', () => {
  const lines = (options: WeightedHistoryOptions): string =>
    shown(logOf(rows), options)
      .map(([, text]) => text)
      .join(' ');
  expect(lines({ max: 8, shortWeight: 1, reactWeight: 5 })).toBe('q1 a1 q2 a2');
  expect(lines({ max: 12, shortWeight: 1, reactWeight: 5 })).toBe('q2 c2.2 o2.2 a2');
  expect(lines({ max: 12 })).toBe('q0 a0 q1 a1 q2 a2');
  expect(lines({ max: 0 })).toBe('');
  expect(lines({ reactWeight: 0, shortWeight: 0 })).toBe(logOf(rows).map(textOf).join(' '));
  const long = logOf([
    rows[0]!,
    { query: 'x'.repeat(100), answer: 'y', react_memory: [] },
    rows[2]!,
  ]);
  expect(
    shown(long, { max: 24 })
      .map(([, text]) => text)
      .join(' '),
  ).toBe('q0 a0 q2 c2.1 o2.1 c2.2 o2.2 a2');
});

test('with a profile, weightedHistory() counts tokens instead of characters', () => {
  const doubled = { ...arc, countText: () => 1, perMessage: 1 };
  const lines = (max: number): number =>
    shown(logOf(rows), { max, unit: 'tokens', profile: doubled }).length;
  expect([lines(3), lines(4), lines(8), lines(16), lines(36)]).toEqual([0, 2, 4, 8, 18]);
  const both = 2 * (arc.perMessage + arc.countText('q0'));
  expect(
    [both - 1, both].map(
      (max) => shown(logOf(rows), { max: Math.ceil(max), unit: 'tokens' }).length,
    ),
  ).toEqual([0, 2]);
});

test.for<[what: string, replies: readonly ScriptedReply[], written: string]>([
  [
    'in text',
    [
      '<think>Where?</think>I look.\n{"think": "so", "tool_name": "look", "arguments": {"q": 1.0}}  ',
    ],
    'I look.\n{"think": "so", "tool_name": "look", "arguments": {"q": 1.0}}  ',
  ],
  [
    'several in text',
    ['[{"tool_name": "look", "arguments": {}}, {"tool_name": "look", "arguments": {}}]'],
    '[{"tool_name": "look", "arguments": {}}, {"tool_name": "look", "arguments": {}}]',
  ],
  ['of a reply that was corrected', ['{"tool_name": "look"}'], '{"tool_name": "look"}'],
  [
    'of the provider’s own',
    [{ thinking: 'so', toolCalls: [{ name: 'look', input: { q: 1 } }] }],
    '```json\n{"tool_name":"look","arguments":{"q":1}}\n```',
  ],
])(
  'as in OxyGent, a step is counted by its original text: tool calls %s',
  async ([, [reply], written]) => {
    const look = tool({
      name: 'look',
      description: '',
      input: { type: 'object' },
      execute: () => '🦊 seen',
    });
    const kept = async (max: number): Promise<boolean> => {
      const model = new ScriptedModel([reply!, 'a', 'b']);
      const use = [oxygentHistory({ reactWeight: 9, max, order: () => 1 }), textToolCalls()];
      const agent = new ReActAgent({ name: 'a', model, tools: [look], use });
      await agent.call('q');
      observed = textOf(model.requests[1]!.messages.at(-1)!);
      await agent.call('next');
      return model.requests[2]!.messages.some((message) => textOf(message) === 'q');
    };
    let observed = '';
    // The step has the highest weight, so the question is kept only if both fit.
    await kept(0);
    const all = [...`${written}${observed}qa`].length;
    expect([await kept(all - 1), await kept(all)]).toEqual([false, true]);
    expect(observed).toMatch(/^Tool \[look\] execution result: 🦊 seen|"arguments" in the call/);
  },
);

test('in an agent, weightedHistory() keeps tool calls with their results, removes thinking, and keeps the whole current turn', async () => {
  const look = tool({
    name: 'look',
    description: '',
    input: { type: 'object' },
    execute: () => 'found '.repeat(30),
  });
  const call = { toolCalls: [{ name: 'look' }, { name: 'look' }] };
  const model = new ScriptedModel([
    call,
    { thinking: 'so', text: 'One.' },
    call,
    'Two.',
    call,
    call,
    'Three.',
  ]);
  const context = weightedHistory({ max: 420, order: (position) => position });
  const agent = new ReActAgent({ name: 'a', model, tools: [look], use: [context] });
  for (const question of ['first', 'second', 'third']) await agent.call(question);
  const last = model.requests
    .at(-1)!
    .messages.map(({ role, content }) => `${role} ${content.map(({ type }) => type).join('+')}`);
  const round = ['assistant tool_use+tool_use', 'tool tool_result', 'tool tool_result'];
  expect(last).toEqual([
    'user text',
    'assistant text',
    'user text',
    ...round,
    'assistant text',
    'user text',
    ...round,
    ...round,
  ]);
});

test('while a call continues, requests contain the same message objects', async () => {
  const look = tool({
    name: 'look',
    description: '',
    input: { type: 'object' },
    execute: () => 'found',
  });
  const { agent, model } = scriptedAgent(
    [{ thinking: 'so', text: 'One.' }, { toolCalls: [{ name: 'look' }] }, 'Two.'],
    { tools: [look], use: [lastTurns(10), weightedHistory()] },
  );
  await agent.call('first');
  await agent.call('second');
  const [, before, after] = model.requests;
  expect(before!.messages).toHaveLength(3);
  before!.messages.forEach((message, index) => expect(after!.messages[index]).toBe(message));
});

test('turns without an answer or without a question, and messages after an answer, are kept', () => {
  const history = [
    assistantMessage('Welcome.'),
    userMessage('asked', { metadata: { runId: '1' } }),
    userMessage('never answered', { metadata: { runId: '1' } }),
    userMessage('next', { metadata: { runId: '2' } }),
    assistantMessage('Answer.'),
    userMessage('too late', { metadata: { runId: '2' } }),
  ];
  expect(shown(history).map(([, text]) => text)).toEqual(history.map(textOf));
  const asOxygent = shown(history, {}, oxygentHistory);
  expect(asOxygent.map(([, text]) => text)).toEqual(history.map(textOf));
  expect(shown([])).toEqual([]);
});

test('the correction of an empty reply is a step of its own', () => {
  const correction = userMessage('Your reply is empty.', {
    metadata: { runId: '1', correction: 'message' },
  });
  const history = [
    userMessage('asked', { metadata: { runId: '1' } }),
    correction,
    assistantMessage('Answer.'),
  ];
  expect(shown(history).map(([, text]) => text)).toEqual(history.map(textOf));
  expect(shown(history, { max: 20 }).map(([, text]) => text)).toEqual(['asked', 'Answer.']);
});

test.each<[options: unknown, message: string]>([
  [{ shortWeight: -1 }, 'shortWeight must be'],
  [{ order: 1 }, 'order must be'],
  [{ max: 'all' }, 'max must be'],
  [{ unit: 'words' }, 'unit must be'],
  [{ profile: arc }, '`profile` works only with unit: "tokens"'],
  [null, 'weightedHistory() must be an object'],
])('weightedHistory() rejects the options %j', (options, message) => {
  const error = expect.objectContaining({
    code: 'CONFIGURATION',
    message: expect.stringContaining(message),
  });
  expect(() => weightedHistory(options as WeightedHistoryOptions)).toThrow(error);
});

test('weightedHistory() rejects an `order` that returns an invalid number', () => {
  for (const value of [NaN, undefined, Infinity, '1']) {
    expect(() => shown(logOf(rows), { order: () => value as number })).toThrow(
      expect.objectContaining({
        code: 'CONFIGURATION',
        message: expect.stringMatching(
          /^weightedHistory\(\): order\(1\) must return a number; got /,
        ),
      }),
    );
  }
});

test('an `order` that throws fails the call with an error that names it', () => {
  const cause = new Error('no places');
  const order = (position: number): number => {
    if (position === 2) throw cause;
    return position;
  };
  const message = 'weightedHistory(): order(2) failed: no places.';
  expect(() => shown(logOf(rows), { order })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message, cause }),
  );
});
