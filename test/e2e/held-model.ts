import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ModelDelta, ToolSchema } from '@isoloop/core';
import { fromOpenAiMessages } from '../../packages/openai-api/src/wire/openai-messages.ts';
import { offlineModel } from '../../demo/src/offline-model.ts';
import { listenOnLoopback, type LoopbackServer } from '../listen-on-loopback.ts';
import {
  chunk,
  done,
  event,
  openEventStream,
  usageChunk,
} from '../provider-server/event-stream.ts';
import { readBody, sendError, sendJson } from '../provider-server/exchange.ts';
import { refusalOf } from '../sent-requests/note.ts';

interface CompletionRequest {
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[];
  readonly tools?: readonly { readonly function: ToolSchema }[];
}

/**
 * Number of deltas before the pause of a reply. They contain "I am the offline model:", or the
 * start of a tool call.
 */
const deltasBefore = 5;

/**
 * Serves the demo's offline rules as an OpenAI-compatible endpoint.
 *
 * If a question begins with "Tell me", the endpoint sends the first words of the reply at once. It
 * sends the rest after a test has posted the question to `/release`. A question with "after the
 * tools" pauses the reply to the tools' results in the same way. The endpoint refuses the question
 * "Who are you?" with the error for a wrong key. It answers 400 for a request that breaks a
 * published rule. `/refusals` lists these answers since the last look.
 */
export async function startHeldModel(): Promise<LoopbackServer> {
  const releases = new Releases();
  const refusals: string[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/refusals') return sendJson(response, 200, refusals.splice(0));
    answer(request, response, releases, refusals).catch(() => response.destroy());
  });
  return listenOnLoopback(server, 0);
}

/** Returns the variables with which the demo's Worker uses this model as the edge's model. */
export function heldModelVars(url: string): Readonly<Record<string, string>> {
  return { OPENAI_MODEL: 'held', OPENAI_BASE_URL: `${url}/v1` };
}

/** The questions whose answers may continue after the pause. */
class Releases {
  readonly #released = new Set<string>();
  readonly #waiting = new Map<string, (() => void)[]>();

  release(question: string): void {
    this.#released.add(question);
    for (const resolve of this.#waiting.get(question) ?? []) resolve();
  }

  until(question: string): Promise<void> {
    if (this.#released.has(question)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.set(question, [...(this.#waiting.get(question) ?? []), resolve]);
    });
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  releases: Releases,
  refusals: string[],
): Promise<void> {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader(
    'access-control-allow-headers',
    request.headers['access-control-request-headers'] ?? '*',
  );
  if (request.method === 'OPTIONS') return void response.writeHead(204).end();
  const body = await readBody(request);
  if (request.url === '/release') {
    releases.release(body);
    return void response.writeHead(204).end();
  }
  const refusal = refusalOf({ url: request.url ?? '', body });
  if (refusal) {
    refusals.push(refusal);
    return sendError(response, 400, { message: refusal });
  }
  const { messages, tools = [] } = JSON.parse(body) as CompletionRequest;
  const question = String(messages.findLast(({ role }) => role === 'user')?.content);
  if (question === 'Who are you?')
    return sendError(response, 401, { message: 'Incorrect API key provided: sk-edge.' });
  openEventStream(response);
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  const model = offlineModel({ delayMs: 0 });
  const asked = {
    messages: fromOpenAiMessages(messages),
    tools: tools.map((tool) => tool.function),
  };
  const pauses =
    question.startsWith('Tell me') ||
    (question.includes('after the tools') && messages.at(-1)?.role === 'tool');
  let count = 0;
  for await (const deltas of model.stream(asked, { signal: controller.signal })) {
    if (count === deltasBefore && pauses) await releases.until(question);
    for (const delta of deltas) response.write(wireEvents(delta));
    count++;
  }
  response.end(done);
}

function wireEvents(delta: ModelDelta): string {
  switch (delta.type) {
    case 'text':
      return event(chunk('held', { content: delta.delta }));
    case 'tool-input': {
      const { index, id, name, delta: text } = delta;
      const opened = id === undefined ? {} : { id, type: 'function' as const };
      const called = { ...(name === undefined ? {} : { name }), arguments: text };
      return event(chunk('held', { tool_calls: [{ index, ...opened, function: called }] }));
    }
    case 'finish': {
      const { inputTokens = 0, outputTokens = 0 } = delta.usage ?? {};
      return (
        event(chunk('held', {}, delta.reason)) +
        event(usageChunk('held', inputTokens, outputTokens))
      );
    }
    default:
      return '';
  }
}
