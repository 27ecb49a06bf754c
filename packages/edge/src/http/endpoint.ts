import { AgentError } from '@isoloop/core';
import type { Context } from 'hono';
import type { Route, Routes } from '../settings/routes.ts';
import type { OriginCheck } from './cross-origin.ts';
import { errorResponse } from './error-response.ts';
import type { EdgeEnv, RequestVariables } from '../settings/handler-options.ts';

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

/**
 * Returns the only handler of a path. The handler gives the request an id, checks its origin and
 * calls the route, or the one of the request's method. It then adds the headers of every response. It is not a chain of middleware,
 * because Hono copies a response for each header that a middleware adds.
 */
export function endpoint(
  errorFormat: RequestVariables['errorFormat'],
  checkOrigin: (c: Context<EdgeEnv>) => OriginCheck,
  routes: Route | Routes,
): (c: Context<EdgeEnv>) => Promise<Response> {
  return async (c) => {
    const requestId = crypto.randomUUID();
    c.set('requestId', requestId);
    c.set('errorFormat', errorFormat);
    const { headers: originHeaders, answer } = checkOrigin(c);
    const response = answer ?? (await respond(c, routes));
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

/** Calls the route of the request's method. An error becomes a response, and no route becomes 405. */
async function respond(c: Context<EdgeEnv>, routes: Route | Routes): Promise<Response> {
  try {
    const route = typeof routes === 'function' ? routes : routeOf(routes, c.req.method);
    if (!route) return wrongMethod(c, Object.keys(routes).join(', '));
    return await route(c);
  } catch (error) {
    return errorResponse(error, c.var);
  }
}

function routeOf(routes: Routes, method: string): Route | undefined {
  // Hono answers HEAD like GET, without the body.
  const name = method === 'HEAD' ? 'GET' : method;
  return Object.hasOwn(routes, name) ? routes[name] : undefined;
}

function wrongMethod(c: Context<EdgeEnv>, allow: string): Response {
  const { path, method } = c.req;
  const error = new AgentError('NOT_FOUND', `${path} takes ${allow}, not ${method}.`);
  return errorResponse(error, { ...c.var, status: 405, headers: { allow } });
}
