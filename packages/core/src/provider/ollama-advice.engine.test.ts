import { expect, test } from 'vitest';
import { ReActAgent } from '../agent/react-agent.ts';
import type { AgentError } from '../error/agent-error.ts';
import type { ChatModel } from '../model/chat-model.ts';
import { openai, openaiResponses, type Fetch } from '../openai.ts';

/** Fails as `fetch` does in Chromium if a server does not run or does not allow the page. */
const refused: Fetch = async () => {
  throw new TypeError('Failed to fetch');
};

/** Sends the beginning of a reply, and then breaks the connection. */
const breaking: Fetch = async () => {
  const bytes = new TextEncoder().encode('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n');
  let reads = 0;
  const body = new ReadableStream({
    pull: (controller) =>
      reads++ ? controller.error(new TypeError('network error')) : controller.enqueue(bytes),
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
};

async function failureOf(model: ChatModel): Promise<AgentError> {
  const agent = new ReActAgent({ name: 'assistant', model });
  return agent.call('Hi').then(
    () => expect.unreachable(),
    (error: AgentError) => error,
  );
}

const { location } = globalThis as { readonly location?: { readonly origin: string } };
/** Advice that only a page gets, because only a browser asks servers whether a page may call. */
const advice = location && `OLLAMA_ORIGINS=${location.origin}`;

test.each(['http://localhost:11434/v1', 'http://127.0.0.1:11434/v1', 'http://[::1]:11434/v1'])(
  'a failed request from a page to Ollama at %s says how to allow the page',
  async (baseURL) => {
    const models = [
      openai({ model: 'qwen3', baseURL, fetch: refused }),
      openaiResponses({ model: 'qwen3', baseURL, fetch: refused }),
    ];
    for (const model of models) {
      const { code, message, retryable } = await failureOf(model);
      expect([code, retryable]).toEqual(['MODEL_UNREACHABLE', true]);
      expect(message.endsWith(`Start Ollama with ${advice}`), message).toBe(advice !== undefined);
      expect(message.includes('OLLAMA')).toBe(advice !== undefined);
    }
  },
);

test('a page that finds no server at the port of Ollama gets the advice with the real error', async () => {
  const { code, message } = await failureOf(
    openai({ model: 'qwen3', baseURL: 'http://localhost:11434/v1' }),
  );
  expect(code).toBe('MODEL_UNREACHABLE');
  expect(message).toContain('The connection to http://localhost:11434/v1/chat/completions failed:');
  expect(message.includes('OLLAMA_ORIGINS')).toBe(advice !== undefined);
});

test.each([
  ['another port', { baseURL: 'http://localhost:1234/v1', fetch: refused }],
  ['a longer port', { baseURL: 'http://localhost:1143/v1', fetch: refused }],
  ['a path with the number', { baseURL: 'https://models.test/11434/v1', fetch: refused }],
  ['a reply that breaks off', { baseURL: 'http://localhost:11434/v1', fetch: breaking }],
])('%s gets no advice about Ollama', async (_what, options) => {
  const { code, message } = await failureOf(openai({ model: 'qwen3', ...options }));
  expect(code).toBe('MODEL_UNREACHABLE');
  expect(message).not.toContain('OLLAMA');
});
