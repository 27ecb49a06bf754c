import { expect, test } from 'vitest';
import { createMessage, userMessage, type ContentBlock } from '../message/msg.ts';
import { arc } from './arc-profile.ts';
import { countMessage, countMessages, countRequest, countTools } from './count-message.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { profileFor } from './profile-for.ts';
import * as profiles from './profiles.ts';
import type { TokenProfile } from './token-profile.ts';

const image: ContentBlock = {
  type: 'image',
  source: { type: 'base64', mediaType: 'image/png', data: 'A'.repeat(1_000_000) },
};

test('text counts by its length, and thinking too unless the profile excludes it', () => {
  const message = createMessage('assistant', [
    { type: 'thinking', thinking: 'x'.repeat(40) },
    { type: 'text', text: 'y'.repeat(80) },
  ]);
  expect(countMessage(message)).toBe(30);
  expect(countMessage(message, { ...arc, thinking: false })).toBe(20);
  expect(countMessages([message, message], { ...arc, thinking: true })).toBe(60);
});

test('a tool call counts by its name and by the arguments as the model wrote them', () => {
  const call = { type: 'tool_use', id: '1', name: 'tool', input: { q: 'x' } } as const;
  expect(countMessage(createMessage('assistant', [call]))).toBe(estimateTokens('tool{"q":"x"}'));
  expect(
    countMessage(createMessage('assistant', [{ ...call, raw: `{"q": "x"${' '.repeat(400)}}` }])),
  ).toBe(103);
});

test('a tool result counts by its output', () => {
  const result = { type: 'tool_result', toolUseId: '1', name: 'tool', state: 'success' } as const;
  expect(countMessage(createMessage('tool', [{ ...result, output: 'r'.repeat(400) }]))).toBe(100);
  expect(
    countMessage(
      createMessage('tool', [
        { ...result, output: [{ type: 'text', text: 'r'.repeat(400) }, image] },
      ]),
    ),
  ).toBe(100 + arc.perMedia);
});

test('the bytes of media never count as text', () => {
  expect(countMessage(userMessage([image, { type: 'text', text: 'what is this?' }]))).toBe(
    arc.perMedia + 3,
  );
});

test('counts a message and a list of tools once per profile', () => {
  let counted = 0;
  const profile: TokenProfile = {
    ...arc,
    perMessage: 5,
    countText: (text) => (counted++, text.length),
  };
  const message = userMessage('abc');
  expect([
    countMessage(message, profile),
    countMessage(message, profile),
    countMessage(message),
  ]).toEqual([8, 8, 1]);
  expect(counted).toBe(1);

  const tools = [{ name: 'a', description: 'b', parameters: {} }];
  expect(countTools(tools, profile)).toBe(JSON.stringify(tools[0]).length);
  expect(countTools(tools, profile)).toBe(JSON.stringify(tools[0]).length);
  expect(counted).toBe(2);
});

const call = { type: 'tool_use', id: '1', name: 'get_weather', input: { city: 'Seoul' } } as const;
const result = {
  type: 'tool_result',
  toolUseId: '1',
  name: 'get_weather',
  output: '21 degrees',
  state: 'success',
} as const;
const tool = {
  name: 'get_weather',
  description: 'Current weather of a city',
  parameters: { type: 'object', properties: {} },
};
const conversation = [
  userMessage('What is the weather in Seoul?'),
  createMessage('assistant', [call, { ...call, id: '2' }]),
  createMessage('tool', [result, { ...result, toolUseId: '2' }]),
];

test.for(Object.values(profiles))(
  '$name: a request costs 8 tokens, a message 5 and a tool call 14, plus the text',
  (profile) => {
    const { countText } = profile;
    const calls = 2 * countText('get_weather{"city":"Seoul"}');
    const text = countText('What is the weather in Seoul?') + calls + 2 * countText('21 degrees');
    expect(countMessages(conversation, profile)).toBe(Math.round(text + 3 * 5 + 2 * 14));
    expect(countMessage(conversation[1]!, profile)).toBe(Math.round(5 + 28 + calls));
    expect(countRequest({ messages: conversation, tools: [] }, profile)).toBe(
      countRequest({ messages: [], tools: [] }, profile) + countMessages(conversation, profile),
    );
    expect(countRequest({ messages: [], tools: [] }, profile)).toBe(8);
  },
);

test('each model family has a price per request with tools and per tool, plus the JSON of the tools', () => {
  const costs: Readonly<Record<string, readonly [once: number, each: number, factor: number]>> = {
    'gpt-5': [20, 6, 0.95],
    'gpt-4': [20, 6, 0.95],
    'kimi-k2': [20, 6, 0.95],
    'gemini-2.5-pro': [20, 6, 0.95],
    'claude-sonnet-4': [410, 30, 1.25],
    'claude-opus-5': [410, 30, 1.25],
    'qwen3-max': [60, 30, 1.25],
    'deepseek-chat': [60, 30, 1.25],
    'llama-3.3-70b': [60, 30, 1.25],
    'mistral-large': [60, 30, 1.25],
    'grok-4': [60, 30, 1.25],
    'something-else': [60, 30, 1.25],
  };
  for (const [modelId, [once, each, factor]] of Object.entries(costs)) {
    const profile = profileFor(modelId);
    const json = profile.countText(JSON.stringify(tool));
    expect(countTools([], profile), modelId).toBe(0);
    expect(countTools([tool], profile), modelId).toBe(Math.round(once + each + factor * json));
    expect(countTools([tool, { ...tool }], profile), modelId).toBe(
      Math.round(once + 2 * (each + factor * json)),
    );
  }
  expect(countTools([tool])).toBe(estimateTokens(JSON.stringify(tool)));
});

test('each model family has a price for a medium of unknown size, in messages and in tool results', () => {
  const rates = {
    'gpt-5': 3000,
    'claude-opus-5': 3000,
    'claude-sonnet-4': 1600,
    'gemini-2.5-pro': 1100,
    'qwen3-max': 1600,
    unknown: 1600,
  };
  for (const [modelId, rate] of Object.entries(rates)) {
    const profile = profileFor(modelId);
    expect(countMessage(userMessage([image]), profile), modelId).toBe(rate + 5);
    expect(
      countMessage(createMessage('tool', [{ ...result, output: [image, image] }]), profile),
      modelId,
    ).toBe(2 * rate + 5);
    for (const type of ['audio', 'video', 'file'] as const) {
      expect(countMessage(userMessage([{ ...image, type }]), profile), modelId).toBe(rate + 5);
    }
  }
});

test('a profile may count a medium by its kind', () => {
  const profile: TokenProfile = {
    ...profiles.o200k,
    countMedia: ({ type }) => (type === 'image' ? 765 : 50),
  };
  expect(countMessage(userMessage([image, { ...image, type: 'audio' }]), profile)).toBe(
    5 + 765 + 50,
  );
});

test('countMessages() rounds once, after the sum', () => {
  const profile: TokenProfile = { ...arc, countText: () => 0.4 };
  const messages = Array.from({ length: 10 }, () => userMessage('x'));
  expect(messages.map((message) => countMessage(message, profile))).toEqual(messages.map(() => 0));
  expect(countMessages(messages, profile)).toBe(4);
});

test('counting a long history again counts only its new message', () => {
  let counted = 0;
  const profile: TokenProfile = {
    ...profiles.generic,
    countText: (text) => (counted++, profiles.generic.countText(text)),
  };
  const history = Array.from({ length: 5000 }, (_, n) => userMessage(`message ${n}`));
  const before = countMessages(history, profile);
  const after = countMessages([...history, userMessage('and one more')], profile);
  expect(counted).toBe(5001);
  expect(after - before).toBe(countMessages([userMessage('and one more')], profile));
});
