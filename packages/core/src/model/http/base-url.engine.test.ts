import { expect, test } from 'vitest';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import type { AgentError } from '../../error/agent-error.ts';
import type { ChatModel } from '../chat-model.ts';
import { openai } from '../openai/openai.ts';
import { openaiResponses } from '../responses/openai-responses.ts';
import type { Fetch } from './http-model.ts';

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
const advice = location ? ` Does the server run and allow pages of ${location.origin}?` : '';

test('a failed request from a page asks whether the server runs and allows the page', async () => {
  const baseURL = 'https://models.test/v1';
  const models = [
    openai({ model: 'qwen3', baseURL, fetch: refused }),
    openaiResponses({ model: 'qwen3', baseURL, fetch: refused }),
  ];
  for (const model of models) {
    const { code, message, retryable } = await failureOf(model);
    expect([code, retryable]).toEqual(['MODEL_UNREACHABLE', true]);
    expect(message.endsWith(`Failed to fetch${advice && `.${advice}`}`), message).toBe(true);
  }
});

test('a page that finds no server gets the question with the real error', async () => {
  const { code, message } = await failureOf(
    openai({ model: 'qwen3', baseURL: 'http://localhost:11434/v1' }),
  );
  expect(code).toBe('MODEL_UNREACHABLE');
  expect(message).toContain('The connection to http://localhost:11434/v1/chat/completions failed:');
  expect(message.includes('allow pages of')).toBe(advice !== '');
});

test('a reply that breaks off causes no such question', async () => {
  const { code, message } = await failureOf(
    openai({ model: 'qwen3', baseURL: 'https://models.test/v1', fetch: breaking }),
  );
  expect(code).toBe('MODEL_UNREACHABLE');
  expect(message).not.toContain('allow pages of');
});
