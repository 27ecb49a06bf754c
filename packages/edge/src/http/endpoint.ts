import { AgentError } from '@isoloop/core';
import type { Context } from 'hono';
import type { OriginCheck } from './cross-origin.ts';
import { errorResponse } from './error-response.ts';
import type { EdgeEnv, RequestVariables } from '../handler-options.ts';

/** Function that answers the requests of a path. Errors that it throws become error responses. */
export type Route = (c: Context<EdgeEnv>) => Response | Promise<Response>;

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
 * calls the route. It then adds the headers of every response. It is not a chain of middleware,
 * because Hono copies a response for each header that a middleware adds.
 */
export function endpoint(
  errorFormat: RequestVariables['errorFormat'],
  checkOrigin: (c: Context<EdgeEnv>) => OriginCheck,
  route: Route,
): (c: Context<EdgeEnv>) => Promise<Response> {
  return async (c) => {
    const requestId = crypto.randomUUID();
    c.set('requestId', requestId);
    c.set('errorFormat', errorFormat);
    const { headers: originHeaders, answer } = checkOrigin(c);
    const response = answer ?? (await respond(c, route));
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

/** Returns a route that calls one of the given routes, or answers 405 for any other method. */
export function byMethod(routes: Readonly<Record<string, Route>>): Route {
  return (c) => {
    // Hono answers HEAD like GET, without the body.
    const method = c.req.method === 'HEAD' ? 'GET' : c.req.method;
    const route = Object.hasOwn(routes, method) ? routes[method] : undefined;
    return route ? route(c) : wrongMethod(c, Object.keys(routes).join(', '));
  };
}

/** Calls the route. An error becomes a response. */
async function respond(c: Context<EdgeEnv>, route: Route): Promise<Response> {
  try {
    return await route(c);
  } catch (error) {
    return errorResponse(error, c.var);
  }
}

function wrongMethod(c: Context<EdgeEnv>, allow: string): Response {
  const { path, method } = c.req;
  const error = new AgentError('NOT_FOUND', `${path} takes ${allow}, not ${method}.`);
  return errorResponse(error, { ...c.var, status: 405, headers: { allow } });
}
