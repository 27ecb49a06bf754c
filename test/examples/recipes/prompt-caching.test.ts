import { expect, test } from 'vitest';
// #region prompt-caching
import { createAnthropic } from '@ai-sdk/anthropic';
import { ReActAgent, type Middleware, type Msg } from '@isoloop/core';
import { fromAiSdk } from '@isoloop/core/ai-sdk';

/** Marks the end of each request, so that Claude keeps what comes before it for five minutes. */
const cacheMark: Middleware = {
  name: 'cacheMark',
  wrapRequest: async (draft, next) => {
    const request = await next(draft);
    if (!('messages' in request)) return request; // the call ends without a request
    return { ...request, messages: withMark(request.messages) };
  },
};

function withMark(messages: readonly Msg[]): readonly Msg[] {
  const last = messages.at(-1);
  const block = last?.content.at(-1);
  if (!last || !block) return messages;
  const anthropic = { cacheControl: { type: 'ephemeral' } };
  const marked = { ...block, providerMetadata: { ...block.providerMetadata, anthropic } };
  return [...messages.slice(0, -1), { ...last, content: [...last.content.slice(0, -1), marked] }];
}
// #endregion

test('the last block of a request to Claude has the mark, in each request of a run', async () => {
  const bodies: { messages: readonly { content: readonly object[] }[]; system: unknown }[] = [];
  const events = [
    { type: 'message_start', message: { id: 'm', model: 'claude', usage: { input_tokens: 3 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi.' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
    { type: 'message_stop' },
  ];
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    bodies.push(JSON.parse(String(init?.body)));
    return new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''), {
      headers: { 'content-type': 'text/event-stream' },
    });
  };
  const anthropicKey = 'a';

  // #region prompt-caching
  const agent = new ReActAgent({
    name: 'assistant',
    systemPrompt: 'You know the handbook: …',
    model: fromAiSdk(createAnthropic({ apiKey: anthropicKey, fetch })('claude-sonnet-4-5')),
    use: [cacheMark],
  });
  await agent.call('Hello!');
  // #endregion
  await agent.call('And again.');

  const marks = bodies.map(({ messages }) =>
    messages.flatMap(({ content }) => content.filter((block) => 'cache_control' in block)),
  );
  expect(marks).toEqual([
    [{ type: 'text', text: 'Hello!', cache_control: { type: 'ephemeral' } }],
    [{ type: 'text', text: 'And again.', cache_control: { type: 'ephemeral' } }],
  ]);
});
