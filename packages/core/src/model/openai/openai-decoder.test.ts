import { expect, test } from 'vitest';
import { readReply, testMalformedChunks } from '@test/support/malformed-chunks.ts';
import { OpenAiDecoder } from './openai-decoder.ts';

const choice = (delta: string): string => `{"choices":[{"index":0,"delta":${delta}}]}`;
testMalformedChunks({
  decoder: () => new OpenAiDecoder(),
  before: choice('{"content":"Hi"}'),
  chunks: [
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
  ],
});

test.each(['{"content":5}', '{"content":{"text":"a"}}', '{"content":"a","tool_calls":5}'])(
  'the message %s in a reply in one piece is rejected, although the reply has a finish reason',
  async (message) => {
    const body = `{"choices":[{"message":${message},"finish_reason":"stop"}]}`;
    const { deltas, error } = await readReply(new OpenAiDecoder(), body, 'application/json');
    expect(deltas).toEqual([]);
    expect([error?.code, error?.retryable]).toEqual(['MODEL_BAD_RESPONSE', false]);
    expect(error?.message).toContain(body);
  },
);
