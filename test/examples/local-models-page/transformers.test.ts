import * as vitest from 'vitest';
import { expect, test, vi } from 'vitest';
import '../strict-assert.ts';
import {
  AgentError,
  InMemoryMemory,
  ReActAgent,
  textOf,
  tool,
  type ChatModel,
} from '@isoloop/core';
import { modelConformance } from '@isoloop/core/testing';
// #region transformers
import {
  InterruptableStoppingCriteria,
  pipeline,
  TextStreamer,
  type TextGenerationPipeline,
} from '@huggingface/transformers';

/** Counts the tokens of the prompt, which come first, and of the reply. */
class CountingStreamer extends TextStreamer {
  readonly counts: number[] = [];
  override put(value: bigint[][]): void {
    this.counts.push(value[0]?.length ?? 0);
    super.put(value);
  }
}

/** Returns a model of transformers.js. Its weights load with the first request. */
export function transformers(modelId: string, onProgress: (share: number) => void): ChatModel {
  let loading: Promise<TextGenerationPipeline> | undefined;
  const load = (): Promise<TextGenerationPipeline> => {
    loading ??= pipeline('text-generation', modelId, {
      device: 'webgpu',
      dtype: 'q4',
      progress_callback: (info) => {
        if (info.status === 'progress') onProgress(info.progress / 100); // of one file
      },
    });
    // After a failure, the next request tries again.
    loading.catch(() => (loading = undefined));
    return loading;
  };
  return {
    provider: 'transformers.js',
    modelId,
    features: { tools: false, media: [] },
    async *stream({ messages, maxTokens = 1024 }, { signal }) {
      const generate = await load();
      const stopping = new InterruptableStoppingCriteria();
      const stop = (): void => stopping.interrupt();
      signal.addEventListener('abort', stop);
      const { readable, writable } = new TransformStream<string, string>();
      const writer = writable.getWriter();
      const streamer = new CountingStreamer(generate.tokenizer, {
        skip_prompt: true,
        skip_special_tokens: true,
        callback_function: (text) => void writer.write(text).catch(() => {}),
      });
      const said = messages.map((message) => ({ role: message.role, content: textOf(message) }));
      generate(said, { max_new_tokens: maxTokens, streamer, stopping_criteria: stopping })
        .then(() => writer.close())
        .catch((error: unknown) => writer.abort(error));
      const reader = readable.getReader();
      try {
        for (;;) {
          if (signal.aborted) throw new AgentError('ABORTED', 'The request was aborted.');
          const { done, value } = await reader.read();
          if (done) break;
          if (value) yield [{ type: 'text', id: 'text', delta: value }];
        }
        const [inputTokens = 0, ...more] = streamer.counts;
        const outputTokens = more.reduce((sum, count) => sum + count, 0);
        const reason = outputTokens < maxTokens ? 'stop' : 'length';
        yield [{ type: 'finish', reason, usage: { inputTokens, outputTokens } }];
      } finally {
        signal.removeEventListener('abort', stop);
        stop(); // ends the work if nobody reads on
        reader.cancel().catch(() => {});
      }
    },
  };
}
// #endregion
// #region local-worker
import { exposeAgent } from '@isoloop/web-worker/worker';
// #endregion
// #region local-agent
import { textToolCalls } from '@isoloop/core/text-protocol';
// #endregion

interface Spoken {
  readonly text: readonly string[];
  readonly tokens: readonly number[];
}

type Factory = (setup: never) => ReActAgent | Promise<ReActAgent>;
const worker = vi.hoisted(() => ({ factory: undefined as Factory | undefined }));
vi.mock('@isoloop/web-worker/worker', () => ({
  exposeAgent: (factory: Factory) => void (worker.factory = factory),
}));

const fake = vi.hoisted(() => ({
  /** The replies of the models, by their ids. */
  replies: new Map<string, Spoken[]>(),
  said: [] as object[],
  stops: 0,
}));
vi.mock('@huggingface/transformers', () => ({
  InterruptableStoppingCriteria: class {
    interrupt(): void {
      fake.stops += 1;
    }
  },
  TextStreamer: class {
    readonly say: (text: string) => void;
    constructor(_tokenizer: object, options: { callback_function: (text: string) => void }) {
      this.say = options.callback_function;
    }
    put(): void {}
  },
  async pipeline(
    _task: string,
    modelId: string,
    { progress_callback: tell }: { progress_callback: (info: object) => void },
  ) {
    tell({ status: 'initiate' });
    tell({ status: 'progress', progress: 40 });
    tell({ status: 'progress', progress: 100 });
    const generate = async (
      said: readonly object[],
      { streamer }: { streamer: { say(text: string): void; put(value: bigint[][]): void } },
    ) => {
      fake.said.push(said);
      const { text, tokens } = fake.replies.get(modelId)!.shift()!;
      for (const count of tokens) streamer.put([Array<bigint>(count).fill(0n)]);
      for (const piece of text) streamer.say(piece);
      return [];
    };
    return Object.assign(generate, { tokenizer: {} });
  },
}));

modelConformance(vitest, 'transformers()', {
  modelWith: ({ thinking, text = [], toolCalls, finish, usage }) => {
    if (thinking || toolCalls || finish !== 'stop') return undefined;
    const id = crypto.randomUUID();
    const { inputTokens = 1, outputTokens = 1 } = usage ?? {};
    fake.replies.set(id, [{ text, tokens: [inputTokens, outputTokens] }]);
    return transformers(id, () => {});
  },
});

test('a local model uses tools through the text protocol, and tells how much is loaded', async () => {
  const clock = tool({ name: 'clock', description: 'Time', input: {}, execute: () => '09:00' });
  fake.replies.set('onnx-community/Qwen3-0.6B-ONNX', [
    { text: ['{"tool_name": "clock",', ' "arguments": {}}'], tokens: [9, 9] },
    { text: ['It is nine.'], tokens: [9, 3] },
  ]);
  const shares: number[] = [];
  const show = (share: number): void => void shares.push(share);

  // #region local-agent
  const model = transformers('onnx-community/Qwen3-0.6B-ONNX', show);
  const agent = new ReActAgent({
    name: 'local',
    model,
    tools: [clock],
    use: [textToolCalls()], // the model itself has no tool calls
  });
  const { text } = await agent.call('What time is it?');
  // #endregion

  expect(text).toBe('It is nine.');
  expect(shares).toEqual([0.4, 1]);
  expect(JSON.stringify(fake.said.at(-1))).toContain('09:00');
});

test('agents in a worker share one local model, and the page hears how much is loaded', async () => {
  fake.replies.set('onnx-community/Qwen3-0.6B-ONNX', [
    { text: ['One.'], tokens: [1, 1] },
    { text: ['Two.'], tokens: [1, 1] },
  ]);

  // #region local-worker
  // worker.ts
  const channel = new BroadcastChannel('model');
  const tell = (share: number): void => channel.postMessage(share);
  const model = transformers('onnx-community/Qwen3-0.6B-ONNX', tell);
  exposeAgent(
    ({ sessionId, memory }) =>
      new ReActAgent({ name: 'local', sessionId, memory, model, use: [textToolCalls()] }),
  );
  // #endregion

  const heard: unknown[] = [];
  const page = new BroadcastChannel('model');
  page.addEventListener('message', ({ data }) => void heard.push(data));
  const setup = (sessionId: string) => ({ sessionId, memory: new InMemoryMemory() }) as never;
  for (const [sessionId, said] of Object.entries({ one: 'One.', two: 'Two.' })) {
    const agent = (await worker.factory!(setup(sessionId))) as ReActAgent;
    expect((await agent.call('Hi')).text).toBe(said);
  }
  await expect.poll(() => heard).toEqual([0.4, 1]);
  page.close();
  channel.close();
});
