import { expect, test } from 'vitest';
import vectors from '@test/fixtures/golden/arc-trim.json?raw';
import { createMessage, type ContentBlock, type Msg } from '@isoloop/core';
import { estimateTokens } from '@isoloop/core/tokens';
import type { FittedContext } from '@isoloop/core/context';
import { arcReactorTrim } from './arc-reactor-trim.ts';

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
