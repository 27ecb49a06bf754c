import { AgentError } from '@isoloop/core';
import { Hono } from 'hono';
import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { access } from './access.ts';
import { chatRoute } from './chat-route.ts';
import { completionsRoute } from './completions-route.ts';
import { errorResponse, logError } from './error-response.ts';
import { defaultLimits } from './handler-options.ts';
import type { AgentHandler, AgentHandlerOptions, EdgeEnv, HandlerSettings, RequestVariables } from './handler-options.ts';
import { branchesRoute, messagesRoute } from './messages-route.ts';
import { modelsRoute } from './models-route.ts';

/**
 * An agent as a chat endpoint: a Worker's default export, or mounted into another Hono app by `app.route('/', handler)`.
 *
 * `POST /api/chat` and `GET /api/chat/:id/messages` speak with AI SDK's `useChat`, `POST /v1/chat/completions` and `GET /v1/models`
 * with OpenAI's clients; `GET /healthz` asks nobody who they are. An error is `{ error: { code, message, requestId } }`, under `/v1`
 * OpenAI's `{ error: { message, type, code, param } }`. Throws `CONFIGURATION` where `models` is empty.
 *
 * @example
 * export default createAgentHandler<Env>({
 *   authorize: (request, env) => callerOf(request, env),
 *   agent: ({ env, memory }) => new ReActAgent({ name: 'assistant', model: openai({ model: 'gpt-5-mini', apiKey: env.KEY }), memory }),
 * });
 */
export function createAgentHandler<Env extends object>(options: AgentHandlerOptions<Env>): AgentHandler<Env> {
  // Hono's types do not follow bindings that are a type parameter: inside they are an object, what goes in and out is `Env`.
  const settings: HandlerSettings = {
    ...(options as AgentHandlerOptions),
    models: options.models ?? ['default'],
    limits: { ...defaultLimits, ...options.limits },
  };
  if (!settings.models.length) throw new AgentError('CONFIGURATION', '`models` is empty: name at least one model.');
  const app = new Hono<EdgeEnv>();
  const allowed = access(settings);
  // Per path, not for all: mounted in another app, its other routes are none of ours.
  for (const [path, face] of paths) app.use(path, begin(face), crossOrigin(options.cors ?? []));

  app.post('/api/chat', allowed, (c) => chatRoute(c, settings));
  app.get('/api/chat/:id/messages', allowed, (c) => messagesRoute(c, settings));
  app.get('/api/chat/:id/branches', allowed, (c) => branchesRoute(c, settings));
  app.post('/v1/chat/completions', allowed, (c) => completionsRoute(c, settings));
  app.get('/v1/models', allowed, () => modelsRoute(settings));
  app.get('/healthz', () => Response.json({ ok: true }));

  app.onError((error, c) => {
    const requestId = c.get('requestId');
    logError(error, requestId);
    return errorResponse(error, { requestId, face: c.get('face') });
  });
  app.notFound((c) => {
    const face = c.req.path.startsWith('/v1/') ? 'openai' : 'isoloop';
    return errorResponse(new AgentError('NOT_FOUND', `There is no ${c.req.method} ${c.req.path} here.`), {
      // Set where the path is ours and only the method is not.
      requestId: (c.get('requestId') as string | undefined) ?? crypto.randomUUID(),
      face,
    });
  });
  return app as unknown as AgentHandler<Env>;
}

const paths: readonly (readonly [path: string, face: RequestVariables['face']])[] = [
  ['/api/chat', 'isoloop'],
  ['/api/chat/:id/messages', 'isoloop'],
  ['/api/chat/:id/branches', 'isoloop'],
  ['/v1/chat/completions', 'openai'],
  ['/v1/models', 'openai'],
  ['/healthz', 'isoloop'],
];

function begin(face: RequestVariables['face']): MiddlewareHandler<EdgeEnv> {
  return async (c, next) => {
    const requestId = crypto.randomUUID();
    c.set('requestId', requestId);
    c.set('face', face);
    await next();
    c.header('x-request-id', requestId);
  };
}

function crossOrigin(origins: readonly string[]): MiddlewareHandler {
  if (!origins.length) return (_c, next) => next();
  return cors({
    origin: [...origins],
    allowMethods: ['GET', 'POST'],
    exposeHeaders: ['x-request-id', 'x-vercel-ai-ui-message-stream', 'retry-after'],
    maxAge: 3600,
  });
}
