import { APICallError } from '@ai-sdk/provider';
import { ReActAgent, type AgentErrorData, type ChatModel } from '@isoloop/core';
import { fromAiSdk } from '@isoloop/core/ai-sdk';
import { classifyError } from '@isoloop/core/error';
import { openai } from '@isoloop/core/openai';
import { createAgentHandler } from '@isoloop/edge';
import { llmProxy } from '@isoloop/edge/llm';
import { APIError } from 'openai';
import { expect, test, vi } from 'vitest';
import { fakeDate } from '../clock/fake-date.ts';
import {
  limitErrors,
  otherErrors,
  otherRequestErrors,
  statusErrors,
  tooLongErrors,
  type ExpectedFailure,
  type ProviderError,
} from './provider-errors.ts';

/** Text of the body. */
function textOf({ body }: ProviderError): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function responseOf(error: ProviderError): Response {
  const headers = { 'content-type': 'application/json', ...error.headers };
  return new Response(textOf(error), { status: error.status, headers });
}

/** Body as an object. A list of Gemini has one object. */
function objectOf({ body }: ProviderError): Readonly<Record<string, unknown>> {
  return (Array.isArray(body) ? body[0] : body) as Readonly<Record<string, unknown>>;
}

async function failureOf(model: ChatModel): Promise<ExpectedFailure> {
  const result = await new ReActAgent({ name: 'a', model }).call('Hi', { throwOnError: false });
  return shown(result.error!);
}

function shown({ code, retryable, details }: Omit<AgentErrorData, 'name'>): ExpectedFailure {
  const retryAfterMs = details?.['retryAfterMs'];
  return {
    code,
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs: Number(retryAfterMs) }),
  };
}

function openAiModel(response: () => Response): ChatModel {
  return openai({
    model: 'm',
    apiKey: 'k',
    baseURL: 'https://models.test/v1',
    fetch: async () => response(),
  });
}

/** A model of AI SDK that throws this error, or reports it in its stream. */
function aiSdkModel(error: unknown, inStream: boolean): ChatModel {
  return fromAiSdk({
    specificationVersion: 'v3',
    provider: 'fake',
    modelId: 'm',
    supportedUrls: {},
    doGenerate: () => expect.unreachable('not streamed'),
    doStream: async () => {
      if (!inStream) throw error;
      return {
        stream: new ReadableStream({
          start(controller) {
            controller.enqueue({ type: 'error', error } as never);
            controller.close();
          },
        }),
      };
    },
  } as Parameters<typeof fromAiSdk>[0]);
}

function apiCallError(error: ProviderError): APICallError {
  const { status: statusCode, headers: responseHeaders = {} } = error;
  return new APICallError({
    message: 'Bad Request',
    url: 'https://models.test/v1',
    requestBodyValues: {},
    statusCode,
    responseHeaders,
    responseBody: textOf(error),
  });
}

/** The error that OpenAI's own client throws. */
function clientError(error: ProviderError): Error {
  const { status, headers = {}, body } = error;
  const parsed = typeof body === 'string' ? undefined : objectOf(error);
  return APIError.generate(status, parsed, textOf(error), new Headers(headers));
}

function classified(error: unknown): ExpectedFailure {
  const { transient: retryable, ...rest } = classifyError(error);
  return { ...rest, retryable };
}

/** Asks the model proxy, whose model's server answers with the error. */
async function askProxy(error: ProviderError): Promise<Response> {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const handler = createAgentHandler({
    agent: () => expect.unreachable('only the proxy is used'),
    authorize: () => ({ user: 'ann' }),
    models: ['m'],
    llm: llmProxy({ models: ['m'], upstream: () => ({ fetch: async () => responseOf(error) }) }),
  });
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
  const request = new Request('https://edge.test/llm/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return handler.fetch(request, {});
}

async function proxyFailure(error: ProviderError): Promise<object> {
  const response = await askProxy(error);
  const { error: answer } = (await response.json()) as { error: { code: string } };
  const { headers } = response;
  return {
    code: answer.code,
    retryable: headers.get('x-should-retry') === 'true',
    seconds: headers.get('retry-after'),
  };
}

const answers: Readonly<Record<string, (error: ProviderError) => unknown>> = {
  'an answer over HTTP': (error) => failureOf(openAiModel(() => responseOf(error))),
  'an APICallError of AI SDK': (error) => failureOf(aiSdkModel(apiCallError(error), false)),
  'an APICallError in the stream of AI SDK': (error) =>
    failureOf(aiSdkModel(apiCallError(error), true)),
  'an error of OpenAI’s client': (error) => classified(clientError(error)),
  'an error whose APICallError AI SDK tried again': (error) =>
    classified(
      Object.assign(new Error('Failed after 3 attempts.'), {
        name: 'AI_RetryError',
        lastError: apiCallError(error),
      }),
    ),
};

const withinReply: Readonly<Record<string, (error: ProviderError) => unknown>> = {
  'an error within a reply': (error) =>
    failureOf(
      openAiModel(() => {
        const headers = { 'content-type': 'text/event-stream' };
        const chunk = JSON.stringify(objectOf(error));
        return new Response(`event: error\ndata: ${chunk}\n\n`, { headers });
      }),
    ),
  'an error object in the stream of AI SDK': (error) => {
    const body = objectOf(error);
    return failureOf(aiSdkModel(body['error'] ?? body, true));
  },
};

const all = [...tooLongErrors, ...otherRequestErrors, ...limitErrors, ...otherErrors];

test('the errors of at least 30 servers are in the table, each with its source', () => {
  const rows = [...all, ...statusErrors];
  const servers = rows.map(({ server }) => server.replace(/, .*| behind .*/, ''));
  expect(new Set(servers).size).toBeGreaterThanOrEqual(30);
  for (const { source } of rows) expect(source).toMatch(/^https:\/\/[\w.]+\/\S+$/);
});

test.each([...all, ...statusErrors].map((row) => [row.server, row] as const))(
  'an error of %s means the same at every place',
  async (_server, row) => {
    fakeDate(Date.UTC(2026, 0, 1));
    const { code, retryable, retryAfterMs } = row;
    const expected = { code, retryable, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    const seen: Record<string, unknown> = {};
    for (const [place, answer] of Object.entries(answers)) seen[place] = await answer(row);
    expect(seen).toEqual(Object.fromEntries(Object.keys(answers).map((key) => [key, expected])));
    expect(await proxyFailure(row)).toEqual({
      code,
      retryable,
      seconds: retryAfterMs === undefined ? null : String(Math.ceil(retryAfterMs / 1000)),
    });
  },
);

test.each(all.map((row) => [row.server, row] as const))(
  'an error of %s means the same within a reply, where it has no headers',
  async (_server, row) => {
    fakeDate(Date.UTC(2026, 0, 1));
    const { code, retryable, headers, retryAfterMs } = row;
    const hasWait = retryAfterMs !== undefined && !headers;
    const expected = { code, retryable, ...(hasWait && { retryAfterMs }) };
    for (const [place, answer] of Object.entries(withinReply))
      expect({ [place]: await answer(row) }).toEqual({ [place]: expected });
  },
);

test.each(all.map((row) => [row.server, row] as const))(
  'an agent of a page gets the same code for an error of %s through the model proxy',
  async (_server, row) => {
    fakeDate(Date.UTC(2026, 0, 1));
    const response = await askProxy(row);
    const { code, retryable } = await failureOf(openAiModel(() => response));
    expect([code, retryable]).toEqual([row.code, row.retryable]);
  },
);
