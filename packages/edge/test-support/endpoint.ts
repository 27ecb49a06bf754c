import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { ReActAgent, type AgentOptions, type ChatModel } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import OpenAI from 'openai';
import { createAgentHandler, type AgentHandler } from '../src/handler/agent-handler.ts';
import { kvSessions } from '../src/kv/index.ts';
import { openAiRoutes } from '@isoloop/openai-api';
import type { AgentHandlerOptions } from '../src/settings/handler-options.ts';

export interface TestEnv {
  readonly CHAT_KV: KVNamespace;
}

export const bindings = env as unknown as TestEnv;

export interface TestEndpoint {
  readonly handler: AgentHandler<TestEnv>;
  readonly model: ScriptedModel;
  readonly fetch: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;
  /**
   * Posts `body` as JSON, or unchanged if it is a string. With an empty `user`, the request has no
   * Authorization header.
   */
  readonly post: (
    path: string,
    body: unknown,
    user?: string,
    headers?: Record<string, string>,
  ) => Promise<Response>;
  readonly get: (path: string, user?: string) => Promise<Response>;
  /** Resolves when all work that the endpoint started in the background has ended. */
  readonly settled: () => Promise<unknown>;
  readonly client: (user?: string, headers?: Record<string, string>) => OpenAI;
}

/**
 * Opens an endpoint whose agent gives the scripted replies. The Authorization header names the
 * user.
 */
export function testEndpoint(
  replies: readonly ScriptedReply[] | ChatModel,
  agentOptions: Partial<AgentOptions> = {},
  options: Partial<AgentHandlerOptions<TestEnv>> = {},
  given: object = bindings,
): TestEndpoint {
  const model = Array.isArray(replies)
    ? new ScriptedModel(replies as readonly ScriptedReply[])
    : (replies as ChatModel);
  const handler = createAgentHandler<TestEnv>({
    agent: ({ memory, sessionId }) =>
      new ReActAgent({ name: 'assistant', model, memory, sessionId, ...agentOptions }),
    authorize: (request) => {
      const user = request.headers.get('authorization')?.replace('Bearer ', '');
      return user ? { user } : null;
    },
    models: ['offline', 'other'],
    kv: kvSessions(),
    openai: openAiRoutes(),
    ...options,
  });
  const pending: Promise<unknown>[] = [];
  const fetchIt = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const context = createExecutionContext();
    const request =
      input instanceof Request
        ? input
        : new Request(new URL(String(input), 'https://edge.test'), init);
    const response = await handler.fetch(request, given as TestEnv, context);
    pending.push(waitOnExecutionContext(context));
    return response;
  };
  const bearer = (user: string): Record<string, string> =>
    user ? { authorization: `Bearer ${user}` } : {};
  return {
    handler,
    model: model as ScriptedModel,
    fetch: fetchIt,
    post: (path, body, user = 'ann', headers = {}) =>
      fetchIt(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearer(user), ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    get: (path, user = 'ann') => fetchIt(path, { headers: bearer(user) }),
    settled: () => Promise.all(pending),
    client: (user = 'ann', headers = {}) =>
      new OpenAI({
        baseURL: 'https://edge.test/v1',
        apiKey: user,
        fetch: fetchIt as typeof fetch,
        maxRetries: 0,
        defaultHeaders: headers,
      }),
  };
}

/** Creates a request with an Authorization header, for functions that identify its sender. */
export function asks(authorization?: string): Request {
  const headers = authorization === undefined ? {} : { authorization };
  return new Request('https://edge.test/', { headers });
}

/** Marks a request as Cloudflare does when it receives one, so that its headers count. */
export function atCloudflare(request: Request): Request {
  return Object.defineProperty(request, 'cf', { value: { colo: 'FRA' } });
}
