import { expect, test } from 'vitest';
import { ScriptedModel } from '@isoloop/core/testing';
// #region claude-and-gemini
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { ReActAgent } from '@isoloop/core';
import { fromAiSdk } from '@isoloop/core/ai-sdk';
import { fallback } from '@isoloop/core/resilience';
// #endregion

const anthropicEvents = [
  {
    type: 'message_start',
    message: { id: 'm', model: 'claude', usage: { input_tokens: 3, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: 'Hello from Claude.' },
  },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
  { type: 'message_stop' },
];
const googleEvents = [
  {
    candidates: [
      { content: { role: 'model', parts: [{ text: 'Hello from Gemini.' }] }, finishReason: 'STOP' },
    ],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
  },
];
const asStream = (events: readonly object[]): Response =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  });

test('agents use Claude and Gemini through their AI SDK packages, one as the fallback of the other', async () => {
  const urls: string[] = [];
  const fetch: typeof globalThis.fetch = async (url) => {
    urls.push(String(url));
    return asStream(String(url).includes('anthropic') ? anthropicEvents : googleEvents);
  };
  const anthropicKey = 'a';
  const googleKey = 'g';

  // #region claude-and-gemini
  const claude = fromAiSdk(createAnthropic({ apiKey: anthropicKey, fetch })('claude-sonnet-4-5'));
  const gemini = fromAiSdk(createGoogle({ apiKey: googleKey, fetch })('gemini-2.5-flash'));

  const agent = new ReActAgent({
    name: 'assistant',
    model: claude,
    use: [fallback([gemini])], // asked if Claude fails
  });
  const { text } = await agent.call('Hello!');
  // #endregion

  expect(text).toBe('Hello from Claude.');
  expect(urls).toEqual(['https://api.anthropic.com/v1/messages']);
  const failing = new ScriptedModel([{ error: new Error('down') }]);
  const other = new ReActAgent({ name: 'other', model: failing, use: [fallback([gemini])] });
  expect((await other.call('Hello!')).text).toBe('Hello from Gemini.');
});
