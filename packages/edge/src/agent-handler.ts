import { AgentError, type ReActAgent } from '@isoloop/core';
import type { Context, MiddlewareHandler } from 'hono';
// The small router suffices: the endpoint has few routes, and a Worker loads fewer bytes.
import { Hono } from 'hono/tiny';
import { access } from './http/access.ts';
import { agentSession } from './session/agent-session.ts';
import { chatRoute } from './routes/chat-route.ts';
import { chatsRoute, deleteRoute } from './routes/chats-route.ts';
import { checkOptions } from './check-options.ts';
import { completionsRoute } from './routes/completions-route.ts';
import { crossOrigin } from './http/cross-origin.ts';
import { errorResponse, logError } from './http/error-response.ts';
import { defaultLimits, defaultSessions } from './handler-options.ts';
import type {
  AgentHandler,
  AgentHandlerOptions,
  EdgeEnv,
  HandlerSettings,
  RequestVariables,
  SessionAgent,
} from './handler-options.ts';
import { interruptRoute } from './routes/interrupt-route.ts';
import { llmResponsesRoute, llmRoute } from './routes/llm-route.ts';
import { branchesRoute, messagesRoute } from './routes/messages-route.ts';
import { modelsRoute } from './routes/models-route.ts';
import { renameRoute } from './routes/rename-route.ts';
import { noStoredResponse, responsesRoute } from './routes/responses-route.ts';
import { rateLimited } from './http/rate-limit.ts';
import { ProcessSessions } from './session/host/process-sessions.ts';
import { runRoute } from './routes/run-route.ts';
import { securityHeaders } from './http/security-headers.ts';
import { echoHeader } from './turn/session.ts';
import { streamRoute } from './routes/stream-route.ts';

/**
 * Creates a chat endpoint for an agent. Use it as a Worker's default export, or mount it in another
 * Hono app with `app.route('/', handler)`.
 *
 * - `/api/chat` serves AI SDK's `useChat`.
 * - `POST /v1/chat/completions`, `POST /v1/responses` and `GET /v1/models` serve OpenAI's clients.
 * - `POST /api/run` serves any other client.
 * - `/llm/v1` forwards requests of agents in pages to a model.
 * - `GET /healthz` needs no authorization.
 *
 * An error response is `{ error: { code, message, requestId } }`. Under `/v1` and `/llm/v1` it has
 * OpenAI's shape `{ error: { message, type, code, param } }`. If you bind the class `Session` as
 * `CHAT_SESSION`, each conversation lives in its own Durable Object. Otherwise conversations are
 * stored in KV. Outside Cloudflare, pass `store`.
 *
 * Throws `CONFIGURATION` if `models` is empty, an entry of `cors` is not an origin, or `store` is
 * not a store. Throws
 * `CONFIGURATION` also for invalid values in `sessions`, `limits`, `llm.maxTokens` and
 * `llm.timeoutMs`.
 *
 * @example
 * export default createAgentHandler<Env>({
 *   authorize: (request, env) => callerOf(request, env),
 *   agent: ({ env, memory }) => {
 *     const model = openaiResponses({ model: 'gpt-5-mini', apiKey: env.KEY });
 *     return new ReActAgent({ name: 'assistant', model, memory });
 *   },
 * });
 */
export function createAgentHandler<
  Env extends object,
  A extends ReActAgent | SessionAgent = ReActAgent | SessionAgent,
>(options: AgentHandlerOptions<Env, A>): AgentHandler<Env, A> {
  // Hono's types do not support bindings that are a type parameter. The code of this package
  // therefore uses `object`; the public types use `Env`.
  const settings: HandlerSettings = {
    ...(options as AgentHandlerOptions<Env> as AgentHandlerOptions),
    models: options.models ?? ['default'],
    limits: { ...defaultLimits, ...options.limits },
    sessions: { ...defaultSessions, ...options.sessions },
  };
  checkOptions(settings);
  const app = new Hono<EdgeEnv>();
  const allowed = rateLimited(settings, access(settings));
  // Registers the middleware for each path: in another Hono app, it must not affect the routes of
  // that app.
  const origins = crossOrigin(options.cors ?? [], [echoHeader]);
  const { store } = settings;
  const sessions = store && new ProcessSessions(settings, store);
  for (const [path, face] of paths) app.use(path, begin(face, sessions), origins);

  app.post('/api/chat', allowed, (c) => chatRoute(c, settings));
  app.patch('/api/chat/:id', allowed, (c) => renameRoute(c, settings));
  app.delete('/api/chat/:id', allowed, (c) => deleteRoute(c, settings));
  app.get('/api/chat/:id/messages', allowed, (c) => messagesRoute(c, settings));
  app.get('/api/chat/:id/branches', allowed, (c) => branchesRoute(c, settings));
  app.post('/api/run', allowed, (c) => runRoute(c, settings));
  app.get('/api/chat/:id/stream', allowed, (c) => streamRoute(c, settings));
  app.post('/api/chat/:id/interrupt', allowed, (c) => interruptRoute(c, settings));
  app.get('/api/chats', allowed, (c) => chatsRoute(c, settings));
  app.post('/v1/chat/completions', allowed, (c) => completionsRoute(c, settings));
  app.post('/v1/responses', allowed, (c) => responsesRoute(c, settings));
  app.get('/v1/models', allowed, () => modelsRoute(settings));
  const { llm } = settings;
  if (llm) {
    app.post('/llm/v1/chat/completions', allowed, (c) => llmRoute(c, settings, llm));
    app.post('/llm/v1/responses', allowed, (c) => llmResponsesRoute(c, settings, llm));
    app.get('/llm/v1/models', allowed, () => modelsRoute(llm));
  }
  for (const path of ['/v1/responses/:id', '/v1/responses/:id/:part'])
    app.all(path, begin('openai'), origins, noStoredResponse);
  app.get('/healthz', () => Response.json({ ok: true }));
  for (const [path, face, methods] of paths) {
    if (llm || !path.startsWith('/llm/')) app.all(path, (c) => wrongMethod(c, face, methods));
  }

  app.onError((error, c) => {
    const requestId = c.get('requestId');
    logError(error, requestId);
    return errorResponse(error, { requestId, face: c.get('face') });
  });
  app.notFound((c) => {
    const face = /^\/(llm\/)?v1\//.test(c.req.path) ? 'openai' : 'isoloop';
    return errorResponse(
      new AgentError('NOT_FOUND', `There is no ${c.req.method} ${c.req.path} here.`),
      {
        // The request id is already set if the path is in `paths` but `llm` is not configured.
        requestId: (c.get('requestId') as string | undefined) ?? crypto.randomUUID(),
        face,
        headers: Object.fromEntries(securityHeaders),
      },
    );
  });
  const serve = (request: Request): Response | Promise<Response> => app.fetch(request);
  const methods = { GET: serve, POST: serve, PATCH: serve, DELETE: serve, OPTIONS: serve };
  const Session = agentSession(settings);
  return Object.assign(app, { ...methods, Session }) as unknown as AgentHandler<Env, A>;
}

const paths: readonly (readonly [
  path: string,
  face: RequestVariables['face'],
  methods: 'GET' | 'POST' | 'DELETE, PATCH',
])[] = [
  ['/api/chat', 'isoloop', 'POST'],
  ['/api/chat/:id/messages', 'isoloop', 'GET'],
  ['/api/chat/:id/branches', 'isoloop', 'GET'],
  ['/api/chat/:id', 'isoloop', 'DELETE, PATCH'],
  ['/api/chat/:id/stream', 'isoloop', 'GET'],
  ['/api/chat/:id/interrupt', 'isoloop', 'POST'],
  ['/api/chats', 'isoloop', 'GET'],
  ['/api/run', 'isoloop', 'POST'],
  ['/v1/chat/completions', 'openai', 'POST'],
  ['/v1/responses', 'openai', 'POST'],
  ['/v1/models', 'openai', 'GET'],
  ['/llm/v1/chat/completions', 'openai', 'POST'],
  ['/llm/v1/responses', 'openai', 'POST'],
  ['/llm/v1/models', 'openai', 'GET'],
  ['/healthz', 'isoloop', 'GET'],
];

function begin(
  face: RequestVariables['face'],
  sessions?: ProcessSessions,
): MiddlewareHandler<EdgeEnv> {
  return async (c, next) => {
    const { env = {} } = c;
    if (sessions) c.env = { ...env, CHAT_SESSION: sessions.bind(env) };
    const requestId = crypto.randomUUID();
    c.set('requestId', requestId);
    c.set('face', face);
    await next();
    c.header('x-request-id', requestId);
    for (const [name, value] of securityHeaders) c.header(name, value);
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store');
  };
}

function wrongMethod(
  c: Context<EdgeEnv>,
  face: RequestVariables['face'],
  methods: string,
): Response {
  const error = new AgentError('NOT_FOUND', `${c.req.path} takes ${methods}, not ${c.req.method}.`);
  return errorResponse(error, {
    requestId: c.get('requestId'),
    face,
    status: 405,
    headers: { allow: methods },
  });
}
