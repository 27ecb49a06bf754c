import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { MemoryStore, ReActAgent, SessionMemory, tool, type ChatModel } from '@isoloop/core';
import { fromAiSdk } from '@isoloop/core/ai-sdk';
import { dashscope } from '@isoloop/core/dashscope';
import { openai } from '@isoloop/core/openai';
import { openaiResponses } from '@isoloop/core/responses';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { brokenRules, type RequestWire } from '../request-rules/broken-rules.ts';

// A session keeps an odd reply for ever. Each later request of any model repeats it, so every
// provider must accept it.

type Piece = Readonly<Record<string, unknown>>;

const eventStream = (pieces: readonly unknown[]): Response =>
  new Response(pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  });

const chunk = (delta: Piece, finishReason: string | null = null): Piece => ({
  choices: [{ index: 0, delta, finish_reason: finishReason }],
});

const call = (name: string, args: string, id = 'functions.w:0'): readonly Piece[] => [
  chunk({ tool_calls: [{ index: 0, id, function: { name, arguments: args } }] }),
  chunk({}, 'tool_calls'),
];

/** Replies that real models give, as chunks of chat completions. */
const oddReplies: Readonly<Record<string, readonly Piece[]>> = {
  'arguments that are a text': call('weather', '"Rome"'),
  'arguments that are JSON within JSON': call('weather', JSON.stringify('{"city":"Rome"}')),
  'arguments that are a number': call('weather', '5'),
  'arguments that are a list': call('weather', '["Rome"]'),
  'arguments that are no JSON': call('weather', '{"city": Rome}'),
  'the name $READFILE': call('$READFILE', '{}'),
  'a name of 80 characters': call('n'.repeat(80), '{}'),
  'a name with a token of its template': call('w<|channel|>x', '{}'),
  'a Chinese name': call('天气', '{}'),
  'an id of 65 characters': call('weather', '{"city":"Rome"}', 'i'.repeat(65)),
  'a Chinese id': call('weather', '{"city":"Rome"}', '天气'),
  'an empty id': call('weather', '{"city":"Rome"}', ''),
  'half an emoji in the arguments': call('weather', '{"city":"\\ud83c"}'),
  'thinking alone': [chunk({ reasoning_content: 'Hm.' }), chunk({}, 'stop')],
  'thinking that its length limit ended': [chunk({ reasoning_content: 'Hm' }), chunk({}, 'length')],
  'half an emoji': [chunk({ content: 'Sunny \ud83c' }), chunk({}, 'length')],
  'blanks alone': [chunk({ content: '\n\n' }), chunk({}, 'stop')],
};

const ending: readonly Piece[] = [chunk({ content: 'Done.' }), chunk({}, 'stop')];

interface NextModel {
  readonly wire: RequestWire;
  readonly target: string;
  /** Creates the model. It sends its requests with this function. */
  readonly model: (fetch: typeof globalThis.fetch) => ChatModel;
}

const chat = (baseURL: string, model: string): NextModel => ({
  wire: 'chat-completions',
  target: `${baseURL}/chat/completions`,
  model: (fetch) => openai({ baseURL, model, apiKey: 'k', fetch: fetch as never }),
});

const nextModels: Readonly<Record<string, NextModel>> = {
  OpenAI: chat('https://api.openai.com/v1', 'gpt-5-mini'),
  Anthropic: chat('https://api.anthropic.com/v1', 'claude-sonnet-5'),
  Mistral: chat('https://api.mistral.ai/v1', 'mistral-small-latest'),
  DeepSeek: chat('https://api.deepseek.com/v1', 'deepseek-v4-pro'),
  'a local Gemma': chat('http://127.0.0.1:8080/v1', 'gemma-3-12b-it'),
  Responses: {
    wire: 'responses',
    target: 'https://api.openai.com/v1/responses',
    model: (fetch) => openaiResponses({ model: 'gpt-5-mini', apiKey: 'k', fetch: fetch as never }),
  },
  DashScope: {
    wire: 'dashscope',
    target: 'https://dashscope-intl.aliyuncs.com/api/v1',
    model: (fetch) => dashscope({ model: 'qwen3-max', apiKey: 'k', fetch: fetch as never }),
  },
  'OpenAI through AI SDK': {
    wire: 'chat-completions',
    target: 'https://api.openai.com/v1/chat/completions',
    model: (fetch) => fromAiSdk(createOpenAI({ apiKey: 'k', fetch }).chat('gpt-4.1')),
  },
  'Anthropic through AI SDK': {
    wire: 'json',
    target: 'https://api.anthropic.com/v1/messages',
    model: (fetch) => fromAiSdk(createAnthropic({ apiKey: 'k', fetch })('claude-sonnet-5')),
  },
};

const weather = tool({
  name: 'weather',
  description: 'Weather of a city',
  input: z.object({ city: z.string() }),
  execute: () => 'Sunny \ud83c',
});

/** Returns the bodies that the next model sends after the odd reply. */
async function bodiesAfter(reply: readonly Piece[], next: NextModel): Promise<readonly string[]> {
  const store = new MemoryStore();
  const agentWith = (model: ChatModel): ReActAgent =>
    new ReActAgent({
      name: 'a',
      model,
      tools: [weather],
      memory: new SessionMemory(store, 's'),
    });
  const replies = [reply, ending];
  const first = openai({
    baseURL: 'http://127.0.0.1:9/v1',
    model: 'm',
    fetch: async () => eventStream(replies.shift() ?? ending),
  });
  await agentWith(first).call('Weather?', { throwOnError: false });

  const bodies: string[] = [];
  const strictFetch = async (_url: unknown, init?: { readonly body?: unknown }) => {
    bodies.push(String(init?.body));
    return Response.json({ error: { message: 'That is enough.' } }, { status: 400 });
  };
  const result = await agentWith(next.model(strictFetch as never)).call('And now?', {
    throwOnError: false,
  });
  // The server of this test refuses the request itself, so nothing else may fail before.
  expect(result.error?.code).toBe('MODEL_REQUEST');
  return bodies;
}

for (const [name, next] of Object.entries(nextModels))
  test.each(Object.entries(oddReplies))(
    `${name} continues a session with %s`,
    async (_what, reply) => {
      const bodies = await bodiesAfter(reply, next);
      expect(bodies.length).toBe(1);
      expect(brokenRules(next.wire, bodies[0], next.target)).toEqual([]);
      expect(bodies[0]).toContain('And now?');
    },
  );
