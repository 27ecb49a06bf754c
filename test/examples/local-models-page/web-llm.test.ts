import * as vitest from 'vitest';
import { expect, test, vi } from 'vitest';
import '../strict-assert.ts';
import { ReActAgent, type ChatModel } from '@isoloop/core';
import { modelConformance, type ConformanceReply } from '@isoloop/core/testing';
import { chatCompletions } from '../../support/wire-formats.ts';
// #region web-llm
import { openai } from '@isoloop/core/openai';
import {
  CreateMLCEngine,
  type ChatCompletionRequestStreaming,
  type MLCEngine,
} from '@mlc-ai/web-llm';

/** Returns a model of WebLLM. Its weights load with the first request. */
export function webLlm(modelId: string, onProgress: (share: number) => void): ChatModel {
  let loading: Promise<MLCEngine> | undefined;
  const load = (): Promise<MLCEngine> => {
    const callback = ({ progress }: { readonly progress: number }) => onProgress(progress);
    loading ??= CreateMLCEngine(modelId, { initProgressCallback: callback });
    // After a failure, the next request tries again.
    loading.catch(() => (loading = undefined));
    return loading;
  };
  return openai({
    model: modelId,
    maxTokensField: 'max_tokens',
    timeoutMs: Infinity, // weights may load for minutes
    fetch: async (_url, { body, signal }) => {
      const engine = await load();
      signal?.throwIfAborted();
      signal?.addEventListener('abort', () => void engine.interruptGenerate());
      const request = JSON.parse(String(body)) as ChatCompletionRequestStreaming;
      const chunks = await engine.chat.completions.create(request);
      return new Response(eventStream(chunks), {
        headers: { 'content-type': 'text/event-stream' },
      });
    },
  });
}

function eventStream(chunks: AsyncIterable<object>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      const data = done ? '[DONE]' : JSON.stringify(value);
      controller.enqueue(encoder.encode(`data: ${data}\n\n`));
      if (done) controller.close();
    },
    cancel: () => void iterator.return?.(),
  });
}
// #endregion

const engine = vi.hoisted(() => ({
  /** What the models say, by their ids. */
  replies: new Map<string, () => AsyncIterable<object>>(),
  interrupted: 0,
  failures: 0,
}));
vi.mock('@mlc-ai/web-llm', () => ({
  async CreateMLCEngine(
    modelId: string,
    { initProgressCallback }: { initProgressCallback: (report: { progress: number }) => void },
  ) {
    initProgressCallback({ progress: 0.5 });
    if (engine.failures-- > 0) throw new Error('No WebGPU');
    initProgressCallback({ progress: 1 });
    return {
      chat: { completions: { create: async () => engine.replies.get(modelId)!() } },
      interruptGenerate: async () => void (engine.interrupted += 1),
    };
  },
}));

/** Returns the chunks of a reply, as WebLLM has them: OpenAI's, without server-sent events. */
async function* chunksOf(reply: ConformanceReply): AsyncGenerator<object> {
  for (const event of chatCompletions(reply)!)
    if (!event.includes('[DONE]')) yield JSON.parse(event.slice('data: '.length)) as object;
}

modelConformance(vitest, 'webLlm()', {
  modelWith: (reply) => {
    const id = crypto.randomUUID();
    engine.replies.set(id, () => chunksOf(reply));
    return webLlm(id, () => {});
  },
});

test('the weights load once, with their progress, and again after a failure', async () => {
  engine.replies.set('m', () => chunksOf({ text: ['Hello.'], finish: 'stop' }));
  engine.failures = 1;
  const shares: number[] = [];
  const agent = new ReActAgent({ name: 'a', model: webLlm('m', (share) => shares.push(share)) });
  await expect(agent.call('Hi')).rejects.toThrow();
  expect((await agent.call('Hi')).text).toBe('Hello.');
  await agent.call('Hi');
  expect(shares).toEqual([0.5, 0.5, 1]);
});

test('an abort interrupts the engine', async () => {
  engine.replies.set('m', () => chunksOf({ text: ['Once'], finish: 'stop' }));
  const before = engine.interrupted;
  const agent = new ReActAgent({ name: 'a', model: webLlm('m', () => {}) });
  const stream = agent.stream('Hi');
  for await (const event of stream) if (event.type === 'reasoning-chunk') break;
  await expect.poll(() => engine.interrupted).toBe(before + 1);
});
