import { AgentError, type ReActAgent } from '@isoloop/core';
import type { Context } from 'hono';
// The small router suffices: the endpoint has few routes, and a Worker loads fewer bytes.
import { Hono } from 'hono/tiny';
import type { Route, RoutesByPath, SettingsRoute } from '../settings/routes.ts';
import { callerCheck } from '../http/access.ts';
import { durableObject } from '../durable/durable-object.ts';
import { sessionHomes } from '../session/session-homes.ts';
import { chatRoute } from '../routes/chat-route.ts';
import { chatsRoute, deleteRoute, renameRoute } from '../routes/chats-route.ts';
import { checkSettings } from './check-options.ts';
import { crossOrigin } from '../http/cross-origin.ts';
import { endpoint } from '../http/endpoint.ts';
import {
  defaultLimits,
  defaultSessions,
  type AgentHandler,
  type AgentHandlerOptions,
  type EdgeEnv,
  type HandlerSettings,
  type RequestVariables,
  type RouteHandler,
  type SessionAgent,
} from '../settings/handler-options.ts';
import { interruptRoute } from '../routes/interrupt-route.ts';
import { branchesRoute, messagesRoute } from '../routes/messages-route.ts';
import { readerHeaders } from '../http/reader-headers.ts';
import { addSecretsOf } from '../http/secrets.ts';
import { withRateLimit } from '../http/rate-limit.ts';
import { runRoute } from '../routes/run-route.ts';
import { streamRoute } from '../routes/stream-route.ts';
import { withdrawRoute } from '../routes/withdraw-route.ts';
import { missingOpenAi } from '../turn/turn-format.ts';

/**
 * Creates a chat endpoint for an agent. Use it as a Worker's default export, or mount it in another
 * Hono app with `app.route('/', handler)`.
 *
 * - `/api/chat` serves AI SDK's `useChat`.
 * - `/v1` serves OpenAI's clients, with `openai: openAiRoutes()` of `@isoloop/openai-api`.
 * - `POST /api/run` serves any other client.
 * - `/llm/v1` forwards requests of agents in pages to a model.
 * - `GET /healthz` needs no authorization.
 *
 * An error response is `{ error: { code, message, requestId } }`. Under `/v1` and `/llm/v1` it has
 * OpenAI's shape `{ error: { message, type, code, param } }`. If you bind the class `Session` as
 * `CHAT_SESSION`, each conversation lives in its own Durable Object. Otherwise conversations are
 * stored in KV, with `kv: kvSessions()` of `@isoloop/edge/kv`. Outside Cloudflare, pass
 * `store: storeSessions(store)` of `@isoloop/edge/store`.
 *
 * Throws `CONFIGURATION` if `models` is empty, an entry of `cors` is not an origin, or `store` is
 * not `storeSessions(store)`. Throws `CONFIGURATION` also for invalid values in `sessions` and
 * `limits`.
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
  checkSettings(settings);
  const { llm, openai, moves, operator } = settings;
  const homeOf = sessionHomes(settings);
  const identify = callerCheck(settings);
  const protect = (route: SettingsRoute, identity = identify): Route => {
    const enter = withRateLimit(settings, identity);
    return async (c) => {
      // Outside a Worker, a request may have no bindings.
      c.env ??= {};
      addSecretsOf(settings, c.env);
      c.set('home', homeOf(c.env));
      await enter(c);
      const headers = await readerHeaders(c);
      const response = await route(c, settings);
      headers.forEach((value, name) => response.headers.set(name, value));
      return response;
    };
  };
  const routes: RoutesByPath = {
    '/api/chat': { POST: protect(chatRoute) },
    '/api/chat/:id': {
      DELETE: protect(deleteRoute),
      PATCH: protect(renameRoute),
      ...moves?.routes(protect),
    },
    '/api/chat/:id/messages': { GET: protect(messagesRoute) },
    '/api/chat/:id/branches': { GET: protect(branchesRoute) },
    '/api/chat/:id/stream': { GET: protect(streamRoute) },
    '/api/chat/:id/queue/:messageId': { DELETE: protect(withdrawRoute) },
    '/api/chat/:id/interrupt': { POST: protect(interruptRoute) },
    ...llm?.routes(protect),
    ...operator?.routes(protect),
    '/api/chats': { GET: protect(chatsRoute) },
    '/api/run': { POST: protect(runRoute) },
    ...openai?.routes(protect),
    '/healthz': { GET: () => Response.json({ ok: true }) },
  };
  const app = new Hono<EdgeEnv>();
  const checkOrigin = crossOrigin(options.cors ?? []);
  // Each path has its own handler: in another Hono app, this app must not affect the routes of that
  // app.
  for (const [path, methods] of Object.entries(routes))
    app.all(path, endpoint(errorFormatOf(path), checkOrigin, methods));
  app.notFound((c) => endpoint(errorFormatOf(c.req.path), checkOrigin, noRoute(settings))(c));
  const Plain = durableObject(settings);
  const Movable = moves?.session(Plain, settings) ?? Plain;
  const Session = operator?.session(Movable) ?? Movable;
  return Object.assign(app, handlersOf(app), { Session }) as unknown as AgentHandler<Env, A>;
}

/** Returns the app as route handlers of Next.js. */
function handlersOf(app: Hono<EdgeEnv>): Readonly<Record<string, RouteHandler>> {
  const answer: RouteHandler = (request) => app.fetch(request);
  return {
    GET: answer,
    POST: answer,
    PUT: answer,
    PATCH: answer,
    DELETE: answer,
    OPTIONS: answer,
  };
}

/** Returns the API whose error format the responses of a path use. */
function errorFormatOf(path: string): RequestVariables['errorFormat'] {
  return /^\/(llm\/)?v1\//.test(path) ? 'openai' : 'isoloop';
}

/** Returns the route for all other paths. */
function noRoute({ openai }: HandlerSettings): Route {
  return ({ req }: Context<EdgeEnv>) => {
    const advice = !openai && req.path.startsWith('/v1/') ? ` ${missingOpenAi()}` : '';
    throw new AgentError('NOT_FOUND', `There is no ${req.method} ${req.path} here.${advice}`);
  };
}
