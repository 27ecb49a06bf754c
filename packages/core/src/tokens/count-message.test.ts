import { expect, test } from 'vitest';
import type { ContentBlock } from '../message/content-block.ts';
import { createMessage, userMessage } from '../message/create-message.ts';
import { arc } from './arc-profile.ts';
import { countMessage, countTools } from './count-message.ts';
import { estimateTokens } from './estimate-tokens.ts';
import type { TokenProfile } from './token-profile.ts';

const image: ContentBlock = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'A'.repeat(1_000_000) } };

test('text and thinking count by their text', () => {
  const message = createMessage('assistant', [
    { type: 'thinking', thinking: 'x'.repeat(40) },
    { type: 'text', text: 'y'.repeat(80) },
  ]);
  expect(countMessage(message)).toBe(30);
});

test('a tool call counts its name and the arguments as the model wrote them', () => {
  const call = { type: 'tool_use', id: '1', name: 'tool', input: { q: 'x' } } as const;
  expect(countMessage(createMessage('assistant', [call]))).toBe(estimateTokens('tool{"q":"x"}'));
  expect(countMessage(createMessage('assistant', [{ ...call, raw: `{"q": "x"${' '.repeat(400)}}` }]))).toBe(103);
});

test('a tool result counts its output', () => {
  const result = { type: 'tool_result', toolUseId: '1', name: 'tool', state: 'success' } as const;
  expect(countMessage(createMessage('tool', [{ ...result, output: 'r'.repeat(400) }]))).toBe(100);
  expect(countMessage(createMessage('tool', [{ ...result, output: [{ type: 'text', text: 'r'.repeat(400) }, image] }]))).toBe(
    100 + arc.perMedia,
  );
});

test('inline bytes are never counted as text', () => {
  expect(countMessage(userMessage([image, { type: 'text', text: 'what is this?' }]))).toBe(arc.perMedia + 3);
});

test('an object is counted once for each profile', () => {
  let counted = 0;
  const profile: TokenProfile = { ...arc, perMessage: 5, countText: (text) => (counted++, text.length) };
  const message = userMessage('abc');
  expect([countMessage(message, profile), countMessage(message, profile), countMessage(message)]).toEqual([8, 8, 1]);
  expect(counted).toBe(1);

  const tools = [{ name: 'a', description: 'b', parameters: {} }];
  expect(countTools(tools, profile)).toBe(JSON.stringify(tools[0]).length);
  expect(countTools(tools, profile)).toBe(JSON.stringify(tools[0]).length);
  expect(counted).toBe(2);
});
