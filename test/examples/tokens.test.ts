import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region tokens
import {
  countRequest,
  estimateTokens,
  o200k,
  profileFor,
  TokenCalibration,
  withCalibration,
  type TokenProfile,
} from '@isoloop/core/tokens';
// #endregion
// #region tokens-context
import {
  ReActAgent,
  userMessage,
  type MediaBlock,
  type ToolSchema,
  type Usage,
} from '@isoloop/core';
import { fitContext } from '@isoloop/core/context';
// #endregion
// #region tokens-calibration
// #endregion
// #region tokens-media
// #endregion

const messages = [userMessage('What is the weather in Seoul?')];
const tools: readonly ToolSchema[] = [
  { name: 'get_weather', description: 'Current weather of a city', parameters: { type: 'object' } },
];

test('estimateTokens() and countRequest() estimate tokens', () => {
  const log = vi.spyOn(console, 'log').mockReturnValue();

  // #region tokens
  const text = '오늘 서울의 날씨는 어떤가요?';
  console.log(estimateTokens(text, o200k)); // 9, for GPT-4o and newer
  console.log(estimateTokens(text, profileFor('claude-opus-5'))); // 17, by the model's name; this bundles all profiles
  console.log(countRequest({ messages, tools }, o200k)); // a whole request with its frame, messages and tools
  // #endregion

  expect(log.mock.calls.flat()).toEqual([9, 17, countRequest({ messages, tools }, o200k)]);
});

test('fitContext() counts with a profile', async () => {
  const model = new ScriptedModel(['Fine.']);

  // #region tokens-context
  const context = fitContext({ window: 128_000, profile: o200k });
  const agent = new ReActAgent({ name: 'assistant', model, use: [context] });
  // #endregion

  expect((await agent.call('How are you?')).text).toBe('Fine.');
});

test('countMedia sets the tokens of media', () => {
  // #region tokens-media
  const profile: TokenProfile = {
    ...o200k,
    countMedia: (block: MediaBlock) => (block.type === 'image' ? 765 : 3000),
  };
  // #endregion

  const image = {
    type: 'image',
    source: { type: 'url', url: 'https://example.com/cat.png' },
  } as const;
  expect(
    countRequest(
      { messages: [userMessage([image, { ...image, type: 'file' }])], tools: [] },
      profile,
    ),
  ).toBe(765 + 3000 + 5 + 8);
});

test('TokenCalibration learns from the reported usage', async () => {
  const usage: Usage = { inputTokens: 3000, outputTokens: 5 };
  const model = new ScriptedModel([{ text: 'Fine.', usage }]);
  const longText = 'How are you? '.repeat(400);

  // #region tokens-calibration
  const profile = profileFor(model.modelId);
  const calibration = new TokenCalibration({ profile });
  const learning = new ReActAgent({
    name: 'assistant',
    model: withCalibration(model, calibration),
    use: [fitContext({ window: 128_000, profile, calibration })],
  });
  await learning.call(longText);

  const ratio = calibration.ratioOf(model.modelId); // reported tokens per estimated token
  const stored = JSON.stringify(calibration.ratios()); // restore with new TokenCalibration({ ratios: JSON.parse(stored) })
  // #endregion

  expect(ratio).toBeGreaterThan(1.2);
  expect(ratio).toBeLessThan(2);
  expect(JSON.parse(stored)).toEqual({ [model.modelId]: ratio });
});
