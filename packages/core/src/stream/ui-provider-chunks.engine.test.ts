import {
  readUIMessageStream,
  uiMessageChunkSchema,
  validateUIMessages,
  type UIMessage,
  type UIMessageChunk,
} from 'ai';
import { expect, test } from 'vitest';
import { ReActAgent } from '@isoloop/core';
import { createUiMessageEncoder, toUiMessages, type UiChunk } from '@isoloop/core/ai-sdk';
import { openaiResponses } from '@isoloop/core/openai';
import search from '../../../../test/fixtures/responses-streams/openai-openai-web-search-tool-1.sse?raw';
import remoteTool from '../../../../test/fixtures/responses-streams/openai-openai-mcp-tool-approval-4.sse?raw';

/**
 * Lets an agent answer with a recorded stream. Returns the UI chunks and the stored conversation.
 */
async function answerOf(recorded: string) {
  const model = openaiResponses({ model: 'gpt-5.4', fetch: async () => new Response(recorded) });
  const agent = new ReActAgent({ name: 'a', model });
  const encoder = createUiMessageEncoder();
  const chunks: UiChunk[] = [];
  for await (const batch of agent.stream('go').batches()) chunks.push(...encoder.encode(batch));
  return { chunks, messages: await agent.messages() };
}

/** Reads the chunks with AI SDK's own schema and reader. */
async function read(chunks: readonly UiChunk[]): Promise<UIMessage> {
  const { validate } = await uiMessageChunkSchema();
  const stream = new ReadableStream<UIMessageChunk>({
    async start(controller) {
      for (const chunk of chunks) {
        const checked = await validate!(structuredClone(chunk));
        if (!checked.success) throw checked.error;
        controller.enqueue(checked.value);
      }
      controller.close();
    },
  });
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream, terminateOnError: true }))
    last = message;
  return last!;
}

const partsOf = (message: UIMessage, type: string) =>
  message.parts.filter((part) => part.type === type);

test('the UI stream shows the provider’s searches as tools, and cited pages as sources', async () => {
  const { chunks, messages } = await answerOf(search);
  const message = await read(chunks);
  const tools = partsOf(message, 'dynamic-tool');
  expect(tools.length).toBeGreaterThan(0);
  for (const part of tools)
    expect(part).toMatchObject({
      toolName: 'web_search',
      state: 'output-available',
      providerExecuted: true,
    });
  const sources = partsOf(message, 'source-url');
  expect(sources.length).toBeGreaterThan(0);
  const [history] = await validateUIMessages({ messages: toUiMessages(messages).slice(1) });
  expect(partsOf(history!, 'dynamic-tool')).toEqual(JSON.parse(JSON.stringify(tools)));
  expect(partsOf(history!, 'source-url')).toEqual(sources);
  expect(partsOf(history!, 'reasoning')).toEqual([]);
});

test("the UI stream shows a tool call of the provider's MCP connector with input and output", async () => {
  const { chunks } = await answerOf(remoteTool);
  expect(partsOf(await read(chunks), 'dynamic-tool')).toEqual([
    expect.objectContaining({
      toolName: 'create_short_url',
      input: expect.objectContaining({ url: 'https://ai-sdk.dev/' }),
      output: expect.stringContaining('Short URL created'),
      providerExecuted: true,
    }),
  ]);
});
