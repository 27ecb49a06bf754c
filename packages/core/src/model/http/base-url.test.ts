import { expect, onTestFinished, test, vi } from 'vitest';
import { httpProviders } from '@test/support/providers.ts';
import type { AgentError } from '../../error/agent-error.ts';
import { userMessage } from '../../message/msg.ts';
import type { ChatModel } from '../chat-model.ts';
import { openai } from '../openai/openai.ts';
import { openaiResponses } from '../responses/openai-responses.ts';
import type { Fetch } from './http-model.ts';

async function errorOf(model: ChatModel): Promise<AgentError> {
  const { signal } = new AbortController();
  const stream = model.stream({ messages: [userMessage('Hi')], tools: [] }, { signal });
  try {
    for await (const _deltas of stream);
  } catch (error) {
    return error as AgentError;
  }
  return expect.unreachable('no error');
}

/** Returns a `fetch` function that always gets this answer, and the addresses of its requests. */
function answering(
  status: number,
  body: string,
): { readonly fetch: Fetch; readonly urls: string[] } {
  const urls: string[] = [];
  const fetch: Fetch = async (url) => {
    urls.push(url);
    return new Response(body, { status });
  };
  return { fetch, urls };
}

const wrongBases: readonly (readonly [baseURL: string, shown: string])[] = [
  ['localhost:11434/v1', 'localhost:11434/v1'],
  ['api.example.com/v1', 'api.example.com/v1'],
  ['ann:secret@host/v1?key=secret', 'host/v1'],
  ['https:host/v1', 'https:host/v1'],
  ['https://host/openai?api-version=1', 'https://host/openai'],
  ['https://host/v1#', 'https://host/v1'],
  ['', ''],
];

const wrongCalls = httpProviders.flatMap(({ name, model, path }) =>
  [
    ...wrongBases,
    [`https://host/v1${path}`, `https://host/v1${path}`] as const,
    [`https://ann:secret@host/v1${path}/`, `https://host/v1${path}/`] as const,
    [`/llm/v1${path}`, `/llm/v1${path}`] as const,
  ].map(([baseURL, shown]) => [name, baseURL, shown, model] as const),
);

test.for([
  [openai, '/responses'],
  [openaiResponses, '/chat/completions'],
] as const)('a model of OpenAI’s API refuses the address of its other service', ([make, path]) => {
  expect(() => make({ model: 'm', baseURL: `https://host/v1${path}` })).toThrow('baseURL must be');
});

test.for(wrongCalls)(
  '%s() refuses the base URL "%s", which has no scheme, a query or the path of a service',
  ([, baseURL, shown, model]) => {
    expect(() => model({ model: 'm', baseURL })).toThrow(
      expect.objectContaining({
        code: 'CONFIGURATION',
        message: `baseURL must be like https://host/v1 (no query); got ${shown}.`,
      }),
    );
  },
);

test.for([
  ['/llm/v1', '/llm/v1'],
  ['/', ''],
  ['./v1', './v1'],
  ['../llm/v1/', '../llm/v1'],
  ['//host/v1', '//host/v1'],
  ['http://127.0.0.1:11434/v1//', 'http://127.0.0.1:11434/v1'],
  ['tauri://localhost/v1', 'tauri://localhost/v1'],
  ['https://host/chat/v1', 'https://host/chat/v1'],
  [' https://host/v1 ', 'https://host/v1'],
])('the base URL %s is allowed', async ([baseURL = '', base]) => {
  for (const { model, path } of httpProviders) {
    const { fetch, urls } = answering(500, '');
    await errorOf(model({ model: 'm', baseURL, fetch }));
    expect(urls).toEqual([base + path]);
  }
});

test.for([
  [404, '404 page not found', 'HTTP 404 from the model server'],
  [404, '', 'HTTP 404 from the model server'],
  [404, '{"detail":"Not Found"}', 'HTTP 404 from the model server'],
  [200, '<!doctype html><title>Hi</title>', 'The reply is not an event stream'],
  [200, 'Ollama is running', 'The reply is not an event stream'],
] as const)(
  'the error about the answer %i "%s" names the address and how most base URLs end',
  async ([status, body, problem]) => {
    for (const { model, path, api } of httpProviders) {
      const { fetch } = answering(status, body);
      const question = `${problem}. Is the base URL of https://host${path} right? Most end with ${api}. The reply: `;
      for (const baseURL of ['https://host', 'https://ann:secret@host/']) {
        const { message } = await errorOf(model({ model: 'm', baseURL, fetch }));
        expect(message).toContain(question);
      }
    }
  },
);

test.for([
  [404, '{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}'],
  [401, 'Unauthorized'],
  [500, '<html>'],
  [200, '{"error":{"message":"No credit"}}'],
] as const)(
  'the error about the answer %i %s does not ask about the base URL',
  async ([status, body]) => {
    for (const { model } of httpProviders) {
      const { fetch } = answering(status, body);
      const { message } = await errorOf(model({ model: 'm', baseURL: 'https://host', fetch }));
      expect(message).not.toContain('base URL');
    }
  },
);

/** Replaces the global `fetch` for this test, and returns the headers of the requests. */
function globalFetch(): readonly Headers[] {
  const sent: Headers[] = [];
  vi.stubGlobal('fetch', async (_url: string, { headers }: RequestInit) => {
    sent.push(new Headers(headers));
    return new Response('', { status: 500 });
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return sent;
}

test.for(httpProviders)(
  '$name() without a key for its own server sends no request',
  async ({ model }) => {
    const sent = globalFetch();
    for (const options of [
      {},
      { apiKey: ' ' },
      { apiKey: () => '' },
      { headers: { 'x-app': 'a' } },
    ])
      expect(await errorOf(model({ model: 'm', ...options }))).toMatchObject({
        code: 'MODEL_AUTH',
        message: 'The API key is missing. Set apiKey or baseURL.',
        retryable: false,
      });
    expect(sent).toEqual([]);
  },
);

test.for(httpProviders)(
  '$name() sends a request if something else may add the key',
  async ({ model }) => {
    const sent = globalFetch();
    const { fetch, urls } = answering(500, '');
    await errorOf(model({ model: 'm', headers: { Authorization: 'Bearer k' } }));
    await errorOf(model({ model: 'm', baseURL: 'http://127.0.0.1:11434/v1' }));
    await errorOf(model({ model: 'm', fetch }));
    expect(sent.map((headers) => headers.get('authorization'))).toEqual(['Bearer k', null]);
    expect(urls).toHaveLength(1);
  },
);
