import { expect, test } from 'vitest';
import { assistantMessage, systemMessage, userMessage } from '../message/create-message.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model.ts';
import { arc } from '../tokens/arc-profile.ts';
import type { FittedContext } from './context-policy.ts';
import { fitContext } from './fit-context.ts';

const tokens = (count: number): string => 'x'.repeat(count * 4);
const system = systemMessage(tokens(100), { id: 'system' });
const history = Array.from({ length: 20 }, (_, n): readonly Msg[] => [
  userMessage(tokens(10), { id: `u${n}` }),
  assistantMessage(tokens(10), { id: `a${n}` }),
]).flat();
const prompt = userMessage(tokens(10), { id: 'prompt' });
const messages = [system, ...history, prompt];

async function fit(window: number, tools: readonly ToolSchema[] = [], step = 0): Promise<FittedContext> {
  return fitContext({ window, reserveOutput: 50, step })({ messages, tools, promptId: 'prompt' });
}

test('a request that fits is passed on as it is', async () => {
  expect(await fit(600)).toEqual({ messages, removed: 0, before: 510, after: 510 });
  expect((await fit(600)).messages).toBe(messages);
});

test('the budget is the window without system prompt, tools and the reserve for the answer', async () => {
  expect(await fit(560)).toMatchObject({ removed: 0 });
  expect(await fit(559)).toMatchObject({ removed: 2, before: 510, after: 490 });

  const tool: ToolSchema = { name: 'a', description: tokens(50), parameters: {} };
  const toolTokens = arc.countText(JSON.stringify(tool));
  expect(await fit(560 + toolTokens, [tool])).toMatchObject({ removed: 0, before: 510 + toolTokens });
  expect(await fit(559 + toolTokens, [tool])).toMatchObject({ removed: 2, after: 490 + toolTokens });
});

test('system prompt and current prompt stay, however small the window', async () => {
  const fitted = await fit(51);
  expect(fitted.messages).toEqual([system, prompt]);
  expect(fitted).toMatchObject({ removed: 40, after: 110 });
});

test('a later user message does not take the place of the prompt', async () => {
  const hint = userMessage(tokens(10), { id: 'hint' });
  const policy = fitContext({ window: 170, reserveOutput: 50, step: 0 });
  const fitted = await policy({ messages: [...messages, hint], tools: [], promptId: 'prompt' });
  expect(fitted.messages).toEqual([system, prompt, hint]);
});

test('by default a cut holds for a tenth of the window', async () => {
  const policy = fitContext({ window: 400, reserveOutput: 50 });
  const cut = async (length: number): Promise<string | undefined> =>
    (await policy({ messages: [system, ...history.slice(0, length)], tools: [], promptId: history[length - 1]?.id ?? '' })).messages[1]?.id;
  expect(await Promise.all([25, 27, 29, 31, 33].map(cut))).toEqual(['u0', 'u2', 'u2', 'u4', 'u4']);
});

test('another profile counts the request', async () => {
  const profile = { ...arc, name: 'twice', countText: (text: string): number => arc.countText(text) * 2 };
  const fitted = await fitContext({ window: 2000, reserveOutput: 50, profile })({ messages, tools: [], promptId: 'prompt' });
  expect(fitted.before).toBe(1020);
});

test('a window that has no room beside the reserve is refused', () => {
  expect(() => fitContext({ window: 4096 })).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});
