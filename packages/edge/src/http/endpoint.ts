import { AgentError } from '@isoloop/core';
import type { Context } from 'hono';
import type { Identify, Routes, Route } from '../settings/endpoint-part.ts';
import type { SessionHome } from '../settings/session-home.ts';
import type { OriginCheck } from './cross-origin.ts';
import { errorResponse } from './error-response.ts';
import type { EdgeEnv, HandlerSettings, RequestVariables } from '../settings/handler-options.ts';
import { withRateLimit } from './with-rate-limit.ts';
import { readerHeaders } from './reader-headers.ts';
import { addSecretsOf } from './secrets.ts';

/**
 * Headers of every response. They tell browsers not to guess another content type. Browsers also
 * must not show a response in a frame or load it for another site.
 */
const securityHeaders: readonly (readonly [name: string, value: string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-resource-policy', 'same-site'],
];

/** What the paths of an endpoint share. */
export interface EndpointSetup {
  readonly settings: HandlerSettings;
  /** Identifies the caller, as the option `authorize` says. */
  readonly identify: Identify;
  /** Returns where the conversations live, with the bindings of a request. */
  readonly homeOf: (env: object) => SessionHome;
  readonly checkOrigin: (c: Context<EdgeEnv>) => OriginCheck;
}

/**
 * Returns the only handler of a path. The handler gives the request an id, checks its origin, and
 * calls the route of the request's method. It then adds the headers of every response. It is not a
 * chain of middleware, because Hono copies a response for each header that a middleware adds.
 */
export function endpoint(
  path: string,
  { enter: identify, ...routesByMethod }: Routes,
  setup: EndpointSetup,
): (c: Context<EdgeEnv>) => Promise<Response> {
  const errorFormat = errorFormatOf(path);
  const routes: ReadonlyMap<string, Route> = new Map(Object.entries(routesByMethod));
  const enter = entrance(identify, setup);
  return async (c) => {
    const requestId = crypto.randomUUID();
    c.set('requestId', requestId);
    c.set('errorFormat', errorFormat);
    const { headers: originHeaders, answer } = setup.checkOrigin(c);
    const response = await (answer ?? respond(c, routes, { enter, settings: setup.settings }));
    const { headers } = response;
    for (const [name, value] of [
      ['x-request-id', requestId] as const,
      ...originHeaders,
      ...securityHeaders,
      ...(c.get('routeHeaders') ?? []),
    ]) {
      headers.set(name, value);
      // Middleware of an outer app may have set the header on `c`. Hono prefers that value.
      c.header(name, value, { append: name === 'vary' });
    }
    if (!headers.has('cache-control')) headers.set('cache-control', 'no-store');
    return response;
  };
}

/** Returns the API whose error format the responses of a path use. */
function errorFormatOf(path: string): RequestVariables['errorFormat'] {
  return /^\/(llm\/)?v1\//.test(path) ? 'openai' : 'isoloop';
}

/** Prepares a request for its route. Returns the headers that the response needs, if any. */
type Enter = (c: Context<EdgeEnv>) => Promise<ReadonlyMap<string, string>>;

/** Returns what a request passes before its route: the caller is identified and counted. */
function entrance(
  identify: Routes['enter'],
  { settings, identify: identifyCaller, homeOf }: EndpointSetup,
): Enter {
  if (identify === 'anyone') return async () => new Map();
  const count = withRateLimit(settings, identify ?? identifyCaller);
  return async (c) => {
    // Outside a Worker, a request may have no bindings.
    c.env ??= {};
    addSecretsOf(settings, c.env);
    c.set('home', homeOf(c.env));
    await count(c);
    return readerHeaders(c);
  };
}

interface RespondOptions {
  readonly enter: Enter;
  readonly settings: HandlerSettings;
}

/** Calls the route of the request's method. An error becomes a response; no route becomes 405. */
async function respond(
  c: Context<EdgeEnv>,
  routes: ReadonlyMap<string, Route>,
  { enter, settings }: RespondOptions,
): Promise<Response> {
  try {
    // Hono answers HEAD like GET, without the body.
    const method = c.req.method === 'HEAD' ? 'GET' : c.req.method;
    const route = routes.get(method) ?? routes.get('*');
    if (!route) return wrongMethod(c, [...routes.keys()].join(', '));
    const headers = await enter(c);
    const response = await route(c, settings);
    headers.forEach((value, name) => response.headers.set(name, value));
    return response;
  } catch (error) {
    return errorResponse(error, c.var);
  }
}

function wrongMethod(c: Context<EdgeEnv>, allow: string): Response {
  const { path, method } = c.req;
  const error = new AgentError('NOT_FOUND', `${path} takes ${allow}, not ${method}.`);
  return errorResponse(error, { ...c.var, status: 405, headers: { allow } });
}
