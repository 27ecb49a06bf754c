import { AgentError, type ReActAgent } from '@isoloop/core';
import type { Hono as HonoApp } from 'hono';
// The small router suffices: the endpoint has few routes, and a Worker loads fewer bytes.
import { Hono } from 'hono/tiny';
import type { EndpointPart, Route, Routes, RoutesByPath } from '../settings/endpoint-part.ts';
import { callerCheck } from '../http/access.ts';
import { durableObject } from '../durable/durable-object.ts';
import { sessionHomes } from '../session/homes.ts';
import { chatRoute } from '../routes/chat-route.ts';
import { chatsRoute, deleteRoute, renameRoute } from '../routes/chats-route.ts';
import { checkSettings } from './check-settings.ts';
import { crossOrigin } from '../http/cross-origin.ts';
import { endpoint, type EndpointSetup } from '../http/endpoint.ts';
import {
  defaultLimits,
  defaultSessions,
  type AgentHandlerOptions,
  type AgentSessionClass,
  type EdgeEnv,
  type HandlerSettings,
  type SessionAgent,
} from '../settings/handler-options.ts';
import { interruptRoute } from '../routes/interrupt-route.ts';
import { branchesRoute, messagesRoute } from '../routes/messages-route.ts';
import { runRoute } from '../routes/run-route.ts';
import { streamRoute } from '../routes/stream-route.ts';
import { withdrawRoute } from '../routes/withdraw-route.ts';
import { missingOpenAi } from '../answer/formats.ts';

/**
 * Endpoint that `createAgentHandler` returns: a Worker's default export, or a Hono app to mount
 * with `route()`.
 */
export type AgentHandler<Env extends object = object, A = unknown> = HonoApp<EdgeEnv<Env>> & {
  /** Type marker, never set. */
  readonly '~types'?: () => { readonly agent: A };
  /**
   * Durable Object class for sessions. Export the class from the Worker. The handler uses the class
   * if you bind it as `CHAT_SESSION`.
   */
  readonly Session: AgentSessionClass<Env>;
  /**
   * Route handlers for Next.js: `export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } =
   * handler`.
   */
  readonly GET: RouteHandler;
  readonly POST: RouteHandler;
  readonly PUT: RouteHandler;
  readonly PATCH: RouteHandler;
  readonly DELETE: RouteHandler;
  readonly OPTIONS: RouteHandler;
};

/** Function that answers a request, without the bindings of a Worker. */
export type RouteHandler = (request: Request) => Response | Promise<Response>;

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
  const { moves, operator, llm, openai } = settings;
  const parts = [moves, operator, llm, openai].filter((part) => part !== undefined);
  const setup: EndpointSetup = {
    settings,
    identify: callerCheck(settings),
    homeOf: sessionHomes(settings),
    checkOrigin: crossOrigin(settings.cors ?? []),
  };
  const app = new Hono<EdgeEnv>();
  // Each path has its own handler: in another Hono app, this app must not affect the routes of that
  // app.
  for (const [path, routes] of Object.entries(routesWith(parts)))
    app.all(path, endpoint(path, routes, setup));
  app.notFound((c) => endpoint(c.req.path, unknownPath, setup)(c));
  const Session = parts.reduce(
    (Inner, part) => part.session?.(Inner, settings) ?? Inner,
    durableObject(settings),
  );
  return Object.assign(app, handlersOf(app), { Session }) as unknown as AgentHandler<Env, A>;
}

const ownRoutes: RoutesByPath = {
  '/api/chat': { POST: chatRoute },
  '/api/chat/:id': { DELETE: deleteRoute, PATCH: renameRoute },
  '/api/chat/:id/messages': { GET: messagesRoute },
  '/api/chat/:id/branches': { GET: branchesRoute },
  '/api/chat/:id/stream': { GET: streamRoute },
  '/api/chat/:id/queue/:messageId': { DELETE: withdrawRoute },
  '/api/chat/:id/interrupt': { POST: interruptRoute },
  '/api/chats': { GET: chatsRoute },
  '/api/run': { POST: runRoute },
  '/healthz': { enter: 'anyone', GET: () => Response.json({ ok: true }) },
};

/** Returns the routes of an endpoint with those of its parts. */
function routesWith(parts: readonly EndpointPart[]): RoutesByPath {
  const routesByPath: Record<string, Routes> = { ...ownRoutes };
  for (const part of parts)
    for (const [path, routes] of Object.entries(part.routes))
      routesByPath[path] = { ...routesByPath[path], ...routes };
  return routesByPath;
}

const noRoute: Route = ({ req }, { openai }) => {
  const advice = !openai && req.path.startsWith('/v1/') ? ` ${missingOpenAi()}` : '';
  throw new AgentError('NOT_FOUND', `There is no ${req.method} ${req.path} here.${advice}`);
};
const unknownPath: Routes = { enter: 'anyone', '*': noRoute };

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
