import { expect, test } from 'vitest';
import vectors from '../../../../test/fixtures/golden/arc-trim.json?raw';
import { createMessage, type ContentBlock, type Msg } from '../message/msg.ts';
import { arc } from '../tokens/arc-profile.ts';
import { estimateTokens } from '../tokens/estimate-tokens.ts';
import type { FittedContext } from './context-policy.ts';
import { fitContext } from './fit-context.ts';
import { arcReactorTrim } from '@isoloop/presets';

interface GoldenMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text?: string;
  readonly toolCalls?: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: string;
  }[];
  readonly responses?: readonly string[];
  readonly ids?: readonly string[];
}

interface Golden {
  readonly maxContextTokens: number;
  readonly maxOutputTokens: number;
  readonly systemPrompt: string;
  readonly budget: number;
  readonly messages: readonly GoldenMessage[];
  readonly keptIds: readonly string[];
  readonly tokens: number;
}

const golden: readonly Golden[] = JSON.parse(vectors);

test.for(
  golden.filter(({ maxContextTokens, maxOutputTokens }) => maxContextTokens > maxOutputTokens),
)(
  'arcReactorTrim() trims like Arc Reactor to a budget of $budget',
  ({ maxContextTokens, maxOutputTokens, systemPrompt, budget, messages, keptIds, tokens }) => {
    expect(maxContextTokens - maxOutputTokens - estimateTokens(systemPrompt)).toBe(budget);
    const log = messages.map(fromGolden);
    const question = log.findLast((message) => message.role === 'user');
    const system = createMessage('system', systemPrompt, { id: 'system' });
    const policy = arcReactorTrim({ window: maxContextTokens, reserveOutput: maxOutputTokens });
    const request = { messages: [system, ...log], tools: [], questionId: question?.id };
    const fitted = policy.fit(request) as FittedContext;
    expect(fitted.messages.map((message) => message.id)).toEqual(['system', ...keptIds]);
    expect(fitted.after).toBe(tokens + estimateTokens(systemPrompt));
  },
);

test('a tool call is removed together with all its results, which are one message each', () => {
  const log = conversation('u c2 t t a u c2 t t c1 t');
  for (let budget = 1; budget <= 110; budget++) {
    const { messages, after } = trim(log, { budget, question: 5 });
    expect(orphans(messages)).toEqual([]);
    expect(messages).toContain(log[5]);
    expect(after).toBe(messages.length * 10);
  }
});

test('the newest group of messages is kept, even if it exceeds the budget', () => {
  const log = conversation('u a u c1 t c2 t t');
  const { messages, after } = trim(log, { budget: 20, question: 2 });
  expect(idsOf(messages)).toBe('2u 5c 6t 7t');
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
  const question = createMessage('user', [result('3t'), { type: 'text', text: 'and now?' }], {
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
  const log = [u, a, call, question, second, last];
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
    const { messages, after } = trim(log.slice(0, length), {
      budget: 1000,
      question: length - 1,
      roundTo: 200,
    });
    expect(after).toBeLessThanOrEqual(1000);
    expect(after).toBeGreaterThan(1000 - 200 - 20);
    first.add(messages[0]?.id ?? '');
    cuts.push(length - messages.length);
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

test('fitContext() does not change a request that fits', () => {
  const log = conversation('u a');
  expect(trim(log, { budget: 20, question: 0 }).messages).toBe(log);
});

/** Fits messages of 10 tokens each in a window of `budget` tokens. */
function trim(
  messages: readonly Msg[],
  { budget, question, roundTo = 0 }: { budget: number; question: number; roundTo?: number },
): FittedContext {
  const profile = { ...arc, countText: () => 0, perMessage: 10, perToolCall: 0 };
  const policy = fitContext({ window: budget, reserveOutput: 0, roundTo, profile });
  return policy.fit({ messages, tools: [], questionId: messages[question]?.id }) as FittedContext;
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
function orphans(messages: readonly Msg[]): readonly string[] {
  const ids = (type: 'tool_use' | 'tool_result'): readonly string[] =>
    messages.flatMap(({ content }) =>
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

function idsOf(messages: readonly Msg[]): string {
  return messages.map((message) => message.id).join(' ');
}

function fromGolden({
  id,
  role,
  text,
  toolCalls = [],
  responses = [],
  ids = [],
}: GoldenMessage): Msg {
  const content: ContentBlock[] = [];
  if (text) content.push({ type: 'text', text });
  for (const call of toolCalls) {
    content.push({
      type: 'tool_use',
      id: call.id,
      name: call.name,
      input: JSON.parse(call.arguments),
      raw: call.arguments,
    });
  }
  for (const [index, output] of responses.entries()) {
    content.push({
      type: 'tool_result',
      toolUseId: ids[index] ?? '',
      name: 'tool',
      output,
      state: 'success',
    });
  }
  return createMessage(role, content, { id });
}
