import { arcReactorTrim } from '@isoloop/presets';
import { expect, test } from 'vitest';
import {
  assistantMessage,
  systemMessage,
  toolMessage,
  userMessage,
  type Msg,
  createMessage,
  type ContentBlock,
} from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model.ts';
import { arc } from '../tokens/arc-profile.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import type { TokenProfile } from '../tokens/token-profile.ts';
import { inTurn } from '@test/support/in-turn.ts';
import { clearToolResults } from './clear-tool-results.ts';
import type { FittedContext } from './context-policy.ts';
import { fitContext, type FitContextOptions } from './fit-context.ts';
import { successfulTurns } from './history-views.ts';
import type { TokenRatios } from './request-meter.ts';

const tokens = (count: number): string => 'x'.repeat(count * 4);
const system = systemMessage(tokens(100), { id: 'system' });
const history = Array.from({ length: 20 }, (_, n): readonly Msg[] => [
  userMessage(tokens(10), { id: `u${n}` }),
  assistantMessage(tokens(10), { id: `a${n}` }),
]).flat();
const question = userMessage(tokens(10), { id: 'question' });
const messages = [system, ...history, question];

async function fit(
  window: number,
  tools: readonly ToolSchema[] = [],
  step = 0,
): Promise<FittedContext> {
  return fitContext({ window, reserveOutput: 50, roundTo: step }).fit({
    messages,
    tools,
    questionId: 'question',
  });
}

test('fitContext() does not change a request that fits', async () => {
  expect(await fit(600)).toEqual({ messages, removed: 0, before: 510, after: 510 });
  expect((await fit(600)).messages).toBe(messages);
});

test('the budget for the history is the window minus system prompt, tools and `reserveOutput`', async () => {
  expect(await fit(560)).toMatchObject({ removed: 0 });
  expect(await fit(559)).toMatchObject({ removed: 2, before: 510, after: 490 });

  const tool: ToolSchema = { name: 'a', description: tokens(50), parameters: {} };
  const toolTokens = arc.countText(JSON.stringify(tool));
  expect(await fit(560 + toolTokens, [tool])).toMatchObject({
    removed: 0,
    before: 510 + toolTokens,
  });
  expect(await fit(559 + toolTokens, [tool])).toMatchObject({
    removed: 2,
    after: 490 + toolTokens,
  });
});

test('fitContext() keeps the system prompt and the current question in every window, even a small one', async () => {
  const fitted = await fit(51);
  expect(fitted.messages).toEqual([system, question]);
  expect(fitted).toMatchObject({ removed: 40, after: 110 });
});

test('a later user message does not replace the question of the request', async () => {
  const hint = userMessage(tokens(10), { id: 'hint' });
  const policy = fitContext({ window: 170, reserveOutput: 50, roundTo: 0 });
  const fitted = await policy.fit({
    messages: [...messages, hint],
    tools: [],
    questionId: 'question',
  });
  expect(fitted.messages).toEqual([system, question, hint]);
});

test('by default the history is trimmed again only after it has grown by a tenth of the window', async () => {
  const policy = fitContext({ window: 400, reserveOutput: 50 });
  const cut = async (length: number): Promise<string | undefined> =>
    (
      await policy.fit({
        messages: [system, ...history.slice(0, length)],
        tools: [],
        questionId: history[length - 1]?.id ?? '',
      })
    ).messages[1]?.id;
  expect(await Promise.all([25, 27, 29, 31, 33].map(cut))).toEqual(['u0', 'u2', 'u2', 'u4', 'u4']);
});

test('fitContext() counts the request with the given profile', async () => {
  const profile = {
    ...arc,
    name: 'twice',
    countText: (text: string): number => arc.countText(text) * 2,
  };
  const fitted = await fitContext({ window: 2000, reserveOutput: 50, profile }).fit({
    messages,
    tools: [],
    questionId: 'question',
  });
  expect(fitted.before).toBe(1020);
});

test('fitContext() uses the window that the model states, unless `window` is given', async () => {
  const model = new ScriptedModel([], { features: { contextWindow: 559 } });
  const request = { messages, tools: [], questionId: 'question', model };
  expect(await fitContext({ reserveOutput: 50, roundTo: 0 }).fit(request)).toMatchObject({
    removed: 2,
  });
  expect(
    await fitContext({ reserveOutput: 50, roundTo: 0, window: 600 }).fit(request),
  ).toMatchObject({
    removed: 0,
  });
});

test('fitContext() counts and keeps the messages before the history: system prompt and recalled messages', async () => {
  const recalled = userMessage(tokens(100), { id: 'recalled' });
  const request = {
    messages: [system, recalled, ...history, question],
    tools: [],
    questionId: 'question',
    fixedCount: 2,
  };
  const fitted = await fitContext({ window: 340, reserveOutput: 50, roundTo: 0 }).fit(request);
  expect(fitted.messages.slice(0, 3).map(({ id }) => id)).toEqual(['system', 'recalled', 'u16']);
  expect(fitted).toMatchObject({ before: 610, after: 290, removed: 32 });
});

test('fitContext() counts content that is sent beside the messages', async () => {
  const beside = [systemMessage(tokens(20)), systemMessage(tokens(20))];
  const fitted = await fitContext({ window: 560, reserveOutput: 50, roundTo: 0 }).fit({
    messages,
    tools: [],
    questionId: 'question',
    addedLater: beside,
  });
  expect(fitted).toMatchObject({ before: 550, after: 510, removed: 4 });
});

test('a calibration corrects the estimates with the real token counts of each model', async () => {
  const ratios: Record<string, number> = { twice: 2, near: 1.01, less: 0.5 };
  const calibration = { ratioOf: (modelId: string): number => ratios[modelId] ?? 1 };
  const policy = fitContext({ window: 650, reserveOutput: 50, roundTo: 0, calibration });
  const fitFor = (modelId: string): unknown =>
    policy.fit({
      messages,
      tools: [],
      questionId: 'question',
      model: new ScriptedModel([], { modelId }),
    });
  // The budget of 600 provider tokens corresponds to 300 estimated tokens.
  expect(fitFor('twice')).toMatchObject({ before: 1020, after: 580, removed: 22 });
  expect(fitFor('unknown')).toMatchObject({ before: 510, after: 510 });
  expect(fitFor('less')).toMatchObject({ before: 255, after: 255 });
  // The ratio is rounded up to a multiple of 0.05, so that after a small change the history begins
  // at the same place.
  expect(fitFor('near')).toMatchObject({ before: 536, after: 536 });
});

test('if the calibration ratio changes a little with each reply, the history begins at the same place', () => {
  let ratio = 1.2;
  const policy = fitContext({
    window: 400,
    reserveOutput: 50,
    roundTo: 0,
    calibration: { ratioOf: () => (ratio -= 0.004) },
  });
  const model = new ScriptedModel([]);
  const cuts = Array.from(
    { length: 10 },
    () => policy.fit({ messages, tools: [], questionId: 'question', model }) as FittedContext,
  );
  expect(new Set(cuts.map((cut) => cut.messages[1]?.id)).size).toBe(1);
});

test('arcReactorTrim() may remove a question without its answer, and the newest tool call with its result, as Arc Reactor does', () => {
  const step = [
    assistantMessage([{ type: 'tool_use', id: 'c', name: 't', input: {} }]),
    toolMessage({
      type: 'tool_result',
      toolUseId: 'c',
      name: 't',
      output: tokens(50),
      state: 'success',
    }),
  ];
  const request = {
    messages: [system, ...history.slice(0, 4), question, ...step],
    tools: [],
    questionId: 'question',
  };
  const left = (window: number, policy: typeof fitContext): readonly string[] => {
    const fitted = policy({ window, reserveOutput: 50 }).fit(request) as FittedContext;
    return fitted.messages.slice(1).map(({ id }) => id);
  };
  expect(left(241, arcReactorTrim)).toEqual([
    'a0',
    'u1',
    'a1',
    'question',
    step[0]!.id,
    step[1]!.id,
  ]);
  expect(left(241, fitContext)).toEqual(['question', step[0]!.id, step[1]!.id]);
  expect(left(170, arcReactorTrim)).toEqual(['question']);
  expect(left(170, fitContext)).toEqual(['question', step[0]!.id, step[1]!.id]);
});

test('arcReactorTrim() counts no tools, media or thinking, as Arc Reactor does', () => {
  const tool: ToolSchema = { name: 'a', description: tokens(500), parameters: {} };
  const image = { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } } as const;
  const asked = [
    system,
    ...history.slice(0, 4),
    { ...question, content: [...question.content, image] },
    assistantMessage([
      { type: 'thinking', thinking: tokens(70) },
      { type: 'tool_use', id: 'c', name: 'look', input: { at: 'x'.repeat(27) } },
    ]),
    toolMessage({
      type: 'tool_result',
      toolUseId: 'c',
      name: 'look',
      output: [{ type: 'text', text: tokens(50) }, image],
      state: 'success',
    }),
  ];
  const request = { messages: asked, tools: [tool], questionId: 'question' };
  const { fit: fitted } = arcReactorTrim({ window: 260, reserveOutput: 50 });
  // System prompt 100, questions and answers 40, question 10, tool call 10, result 50.
  expect(fitted(request)).toMatchObject({ removed: 0, before: 210, after: 210 });
  const tight = arcReactorTrim({ window: 259, reserveOutput: 50 });
  expect(tight.fit(request)).toMatchObject({ removed: 1, before: 210, after: 200 });
});

test('fitContext() counts only the new messages of a long history', async () => {
  let counted = 0;
  const profile = {
    ...arc,
    countText: (text: string): number => ((counted += 1), arc.countText(text)),
  };
  const long = Array.from({ length: 5_000 }, (_, n) =>
    (n % 2 ? assistantMessage : userMessage)(tokens(10), { id: `m${n}` }),
  );
  const policy = inTurn(
    successfulTurns(),
    clearToolResults({ profile }),
    fitContext({ window: 8_000, profile }),
  );
  const log = [system, ...long, question];
  const step = async (): Promise<number> => {
    counted = 0;
    await policy.fit({ messages: [...log], tools: [], questionId: 'question' });
    return counted;
  };
  expect(await step()).toBe(5_002);
  for (let n = 0; n < 5; n++) {
    log.push(assistantMessage([{ type: 'tool_use', id: `c${n}`, name: 't', input: {} }]));
    log.push(
      toolMessage({
        type: 'tool_result',
        toolUseId: `c${n}`,
        name: 't',
        output: 'r',
        state: 'success',
      }),
    );
    expect(await step()).toBe(2);
  }
});

test.each<[string, FitContextOptions, RegExp]>([
  ['no room beside the default reserve', { window: 4096 }, /window of 4096 .* reserveOutput/],
  [
    'no room beside the reserve',
    { window: 100, reserveOutput: 100 },
    /window of 100 .* reserveOutput/,
  ],
  ['a negative window', { window: -1 }, /fitContext\(\): window/],
  ['a window that is not a number', { window: NaN }, /fitContext\(\): window/],
  ['a negative reserve', { window: 10, reserveOutput: -1 }, /fitContext\(\): reserveOutput/],
  ['a negative `roundTo`', { window: 9000, roundTo: -1 }, /fitContext\(\): roundTo/],
  ['an invalid profile', { window: 9000, profile: {} as TokenProfile }, /fitContext\(\): profile/],
  [
    'an invalid calibration',
    { window: 9000, calibration: {} as TokenRatios },
    /fitContext\(\): calibration/,
  ],
])('fitContext() rejects %s', (_name, options, message) => {
  expect(() => fitContext(options)).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringMatching(message) as string,
    }),
  );
});

test('at the model call, fit() rejects options that could not be checked earlier', () => {
  const request = { messages, tools: [], questionId: 'question' };
  const small = new ScriptedModel([], { modelId: 'small', features: { contextWindow: 4000 } });
  const message = (text: string): unknown =>
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining(text) as string,
    });
  expect(() =>
    fitContext().fit({ ...request, model: new ScriptedModel([], { modelId: 'mute' }) }),
  ).toThrow(message('set window; the model "mute"'));
  expect(() => fitContext().fit({ ...request, model: small })).toThrow(
    message('window of 4000 tokens has no room after reserveOutput'),
  );
  const wrong = fitContext({ window: 9000, calibration: { ratioOf: () => 0 } });
  expect(() => wrong.fit({ ...request, model: small })).toThrow(
    message('calibration must return a ratio above 0, not 0'),
  );
});

test('a tool call is removed together with all its results, which are one message each', () => {
  const log = conversation('u c2 t t a u c2 t t c1 t');
  for (let budget = 1; budget <= 110; budget++) {
    const { messages: kept, after } = trim(log, { budget, question: 5 });
    expect(orphans(kept)).toEqual([]);
    expect(kept).toContain(log[5]);
    expect(after).toBe(kept.length * 10);
  }
});

test('the newest group of messages is kept, even if it exceeds the budget', () => {
  const log = conversation('u a u c1 t c2 t t');
  const { messages: kept, after } = trim(log, { budget: 20, question: 2 });
  expect(idsOf(kept)).toBe('2u 5c 6t 7t');
  expect(after).toBe(40);
});

test('the history that is kept begins with a user message', () => {
  const log = conversation('u c1 t a u a u');
  expect(idsOf(trim(log, { budget: 60, question: 6 }).messages)).toBe('4u 5a 6u');
});

test('the given question is kept, not the last user message', () => {
  const log = conversation('u a u a u');
  expect(idsOf(trim(log, { budget: 20, question: 2 }).messages)).toBe('2u 4u');
});

test('if the question is a tool result, its tool call is kept', () => {
  const log = conversation('u a c1 t a');
  expect(idsOf(trim(log, { budget: 10, question: 3 }).messages)).toBe('2c 3t 4a');
});

test('if the question contains tool results, their tool call and the other results of that tool call are kept', () => {
  const result = (id: string): ContentBlock => ({
    type: 'tool_result',
    toolUseId: id,
    name: 't',
    output: 'r',
    state: 'success',
  });
  const asked = createMessage('user', [result('3t'), { type: 'text', text: 'and now?' }], {
    id: '3t',
  });
  const [u, a, call, , second, last] = conversation('u a c2 t t a') as [
    Msg,
    Msg,
    Msg,
    Msg,
    Msg,
    Msg,
  ];
  const log = [u, a, call, asked, second, last];
  expect(idsOf(trim(log, { budget: 10, question: 3 }).messages)).toBe('2c 3t 4t 5a');
});

test('without a question, fitContext() removes the oldest messages', () => {
  const log = conversation('u a c1 t c1 t');
  expect(idsOf(trim(log, { budget: 40, question: -1 }).messages)).toBe('2c 3t 4c 5t');
});

test('with `roundTo`, the first message seldom changes while the history grows', () => {
  const log = conversation(`${'u a '.repeat(100)}u`);
  const first = new Set<string>();
  const cuts: number[] = [];
  for (let length = 101; length <= 201; length += 2) {
    const { messages: kept, after } = trim(log.slice(0, length), {
      budget: 1000,
      question: length - 1,
      roundTo: 200,
    });
    expect(after).toBeLessThanOrEqual(1000);
    expect(after).toBeGreaterThan(1000 - 200 - 20);
    first.add(kept[0]?.id ?? '');
    cuts.push(length - kept.length);
  }
  expect(first.size).toBe(6);
  expect(cuts).toEqual(cuts.toSorted((a, b) => a - b));
});

test('with `roundTo`, messages after the question are removed only if the budget cannot be met otherwise', () => {
  const log = conversation('u a u c1 t c1 t');
  expect(idsOf(trim(log, { budget: 50, question: 2, roundTo: 60 }).messages)).toBe(
    '2u 3c 4t 5c 6t',
  );
  expect(idsOf(trim(log, { budget: 40, question: 2, roundTo: 40 }).messages)).toBe('2u 5c 6t');
});

test('fitContext() returns the given messages if they fit', () => {
  const log = conversation('u a');
  expect(trim(log, { budget: 20, question: 0 }).messages).toBe(log);
});

/** Fits messages of 10 tokens each in a window of `budget` tokens. */
function trim(
  log: readonly Msg[],
  { budget, question: at, roundTo = 0 }: { budget: number; question: number; roundTo?: number },
): FittedContext {
  const profile = { ...arc, countText: () => 0, perMessage: 10, perToolCall: 0 };
  const policy = fitContext({ window: budget, reserveOutput: 0, roundTo, profile });
  return policy.fit({ messages: log, tools: [], questionId: log[at]?.id }) as FittedContext;
}

/**
 * Builds a history from letters: `u` is a user message, `a` an assistant message and `t` a tool
 * result. `c2` is an assistant message with two tool calls. The id of a message is its index and
 * letter.
 */
function conversation(plan: string): readonly Msg[] {
  return plan.split(' ').map((part, index) => {
    const letter = part.charAt(0);
    const id = `${index}${letter}`;
    if (letter === 'u') return createMessage('user', 'u', { id });
    if (letter === 'a') return createMessage('assistant', 'a', { id });
    if (letter === 't')
      return createMessage(
        'tool',
        [{ type: 'tool_result', toolUseId: id, name: 't', output: 'r', state: 'success' }],
        { id },
      );
    const calls = Array.from({ length: Number(part.slice(1)) }, (_, n): ContentBlock => {
      return { type: 'tool_use', id: `${index + 1 + n}t`, name: 't', input: {} };
    });
    return createMessage('assistant', calls, { id });
  });
}

/** Returns the ids of tool calls without results and of results without tool calls. */
function orphans(log: readonly Msg[]): readonly string[] {
  const ids = (type: 'tool_use' | 'tool_result'): readonly string[] =>
    log.flatMap(({ content }) =>
      content.flatMap((block) =>
        block.type === type ? ('id' in block ? block.id : block.toolUseId) : [],
      ),
    );
  const calls = ids('tool_use');
  const results = ids('tool_result');
  return [
    ...calls.filter((id) => !results.includes(id)),
    ...results.filter((id) => !calls.includes(id)),
  ];
}

function idsOf(log: readonly Msg[]): string {
  return log.map((message) => message.id).join(' ');
}
