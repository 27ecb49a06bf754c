import { MockLanguageModelV4 } from 'ai/test';

const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
const usage = { inputTokens: tokens, outputTokens: tokens };

/**
 * Returns a model of AI SDK. Its first reply calls the tool `add`, and all later ones are a text.
 */
export function twoReplies(): MockLanguageModelV4 {
  const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'add', input: '{"a":2,"b":40}' };
  const text = [
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'It is 42.' },
    { type: 'text-end', id: 't' },
  ];
  const replies = [[call, end('tool-calls')]];
  return new MockLanguageModelV4({
    doStream: async () => {
      const parts = replies.shift() ?? [...text, end('stop')];
      const stream = new ReadableStream({
        start(controller) {
          for (const part of [{ type: 'stream-start', warnings: [] }, ...parts])
            controller.enqueue(part);
          controller.close();
        },
      });
      return { stream: stream as never };
    },
  });
}

function end(reason: string): object {
  return { type: 'finish', finishReason: { unified: reason, raw: reason }, usage };
}
