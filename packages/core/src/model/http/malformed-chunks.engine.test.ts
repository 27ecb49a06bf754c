import { expect, test } from 'vitest';
import type { AgentError } from '../../error/agent-error.ts';
import type { ModelDelta } from '../chat-model.ts';
import { streamReply } from './http-transport.ts';
import { DashScopeDecoder } from '../dashscope/dashscope-decoder.ts';
import type { ReplyDecoder } from '../formatter.ts';
import { OpenAiDecoder } from '../openai/openai-decoder.ts';

/** Creates a body that contains this text and never ends. */
const openBody = (text: string): ReadableStream<Uint8Array<ArrayBuffer>> =>
  new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(text)) });

async function read(
  decoder: ReplyDecoder,
  body: BodyInit,
  contentType: string,
): Promise<{ deltas: ModelDelta[]; error?: AgentError }> {
  const deltas: ModelDelta[] = [];
  const request = {
    url: 'https://x.test',
    headers: {},
    body: '{}',
    fetch: async () => new Response(body, { headers: { 'content-type': contentType } }),
    signal: new AbortController().signal,
    timeoutMs: Infinity,
  };
  try {
    for await (const batch of streamReply(() => request, decoder)) deltas.push(...batch);
    return { deltas };
  } catch (error) {
    return { deltas, error: error as AgentError };
  }
}

const choice = (delta: string): string => `{"choices":[{"index":0,"delta":${delta}}]}`;
const output = (message: string): string =>
  `{"output":{"choices":[{"message":${message},"finish_reason":"null"}]}}`;

const openAiChunks = [
  '{"choices":[{"delta":{"content":',
  'nonsense',
  choice('{"content":5}'),
  choice('{"content":{"text":"a"}}'),
  choice('{"content":[null]}'),
  choice('{"content":[{"text":{}}]}'),
  choice('{"reasoning_content":{"text":"a"}}'),
  choice('{"tool_calls":{"index":0}}'),
  choice('{"tool_calls":5}'),
  choice('{"tool_calls":[{"index":0,"id":5,"function":{"name":"add"}}]}'),
  choice('{"tool_calls":[{"index":0,"id":"a","function":{"name":{"of":"add"}}}]}'),
];

const dashScopeChunks = [
  '{"output":{"choices":[{"mess',
  '{"output":{"choices":{"message":{}}}}',
  output('{"content":5}'),
  output('{"content":[null]}'),
  output('{"content":[{"text":["a"]}]}'),
  output('{"reasoning_content":["a"]}'),
  output('{"tool_calls":{}}'),
];

const cases = [
  ...openAiChunks.map((chunk) => ({
    chunk,
    before: choice('{"content":"Hi"}'),
    decoder: () => new OpenAiDecoder(),
  })),
  ...dashScopeChunks.map((chunk) => ({
    chunk,
    before: output('{"content":"Hi"}'),
    decoder: () => new DashScopeDecoder(),
  })),
];

test.each(cases)(
  '$chunk ends an open stream immediately, after the text before it, and the error quotes the chunk',
  async ({ chunk, before, decoder }) => {
    const { deltas, error } = await read(
      decoder(),
      openBody(`data: ${before}\n\ndata: ${chunk}\n\n`),
      'text/event-stream',
    );
    expect(deltas).toMatchObject([{ type: 'text', delta: 'Hi' }]);
    expect([error?.name, error?.code, error?.retryable]).toEqual([
      'AgentError',
      'MODEL_BAD_RESPONSE',
      false,
    ]);
    expect(error?.message).toContain(chunk);
  },
);

test.each(cases)(
  '$chunk as a reply in one piece is rejected, and the error quotes it',
  async ({ chunk, decoder }) => {
    const { deltas, error } = await read(decoder(), chunk, 'application/json');
    expect(deltas).toEqual([]);
    expect([error?.name, error?.code, error?.retryable]).toEqual([
      'AgentError',
      'MODEL_BAD_RESPONSE',
      false,
    ]);
    expect(error?.message).toContain(chunk);
  },
);

test.each(['{"content":5}', '{"content":{"text":"a"}}', '{"content":"a","tool_calls":5}'])(
  'the message %s in a reply in one piece is rejected, although the reply has a finish reason',
  async (message) => {
    const body = `{"choices":[{"message":${message},"finish_reason":"stop"}]}`;
    const { deltas, error } = await read(new OpenAiDecoder(), body, 'application/json');
    expect(deltas).toEqual([]);
    expect([error?.code, error?.retryable]).toEqual(['MODEL_BAD_RESPONSE', false]);
    expect(error?.message).toContain(body);
  },
);
