import { AgentError } from '@isoloop/core';
import { keepAliveHeader } from '@isoloop/core/endpoint';
import type { Context } from 'hono';
import { isLocalHost } from './access.ts';
import { errorResponse } from './error-response.ts';
import { echoHeader, ignoredHeader, rejoinHeader, userHeader } from './header-names.ts';
import type { EdgeEnv } from '../settings/handler-options.ts';

/** Maximum number of origins that the log names, because a sender can write any origin. */
const maxLoggedOrigins = 50;

/** Headers of answers that pages may read. */
const exposedHeaders = [
  'x-request-id',
  'x-vercel-ai-ui-message-stream',
  'retry-after',
  'x-should-retry',
  echoHeader,
  ignoredHeader,
  keepAliveHeader,
  rejoinHeader,
  userHeader,
];

/** Result of a check of a request's origin. */
export interface OriginCheck {
  /** Headers for the response. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Response to a preflight or to a refused page. `undefined`: the request may go on. */
  readonly answer?: Response;
}

/**
 * Returns a function that lets pages of the listed origins call, and answers their preflights.
 * Refuses pages of other origins with 403, and logs each of these origins once. Without the refusal
 * a browser would hide the answer from such a page, but the turn would still run.
 *
 * Accepts requests of programs, which send no origin, and of the endpoint's own pages. An endpoint
 * on a local host accepts requests from any local page, because a development server may forward
 * them. A preflight shows that nothing forwards them, so it needs a listed origin.
 */
export function crossOrigin(
  listedOrigins: readonly string[],
): (c: Context<EdgeEnv>) => OriginCheck {
  const loggedOrigins = new Set<string>();
  // A cache must not give the answer for one origin to a page of another origin.
  const vary = listedOrigins.length ? [['vary', 'origin'] as const] : [];
  return (c) => {
    const origin = c.req.header('origin');
    if (origin === undefined) return { headers: vary };
    const isPreflight = c.req.method === 'OPTIONS';
    if (listedOrigins.includes(origin)) {
      const allow = [...vary, ['access-control-allow-origin', origin] as const];
      if (isPreflight) return { headers: allow, answer: preflightAnswer(c) };
      return { headers: [...allow, ['access-control-expose-headers', exposedHeaders.join(',')]] };
    }
    if (!isPreflight && isOwn(origin, c.req.url)) return { headers: vary };
    const error = originError(origin);
    if (!loggedOrigins.has(origin) && loggedOrigins.size < maxLoggedOrigins) {
      loggedOrigins.add(origin);
      console.warn(error.message);
    }
    return { headers: vary, answer: errorResponse(error, { ...c.var, status: 403 }) };
  };
}

/** Returns whether the text is the origin of a page, in the form that browsers send. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text && !text.includes('*');
}

function preflightAnswer(c: Context<EdgeEnv>): Response {
  const requestedHeaders = c.req.header('access-control-request-headers');
  const headers = {
    'access-control-allow-methods': 'GET,POST,PUT,PATCH,DELETE',
    'access-control-max-age': '3600',
    ...(requestedHeaders !== undefined && { 'access-control-allow-headers': requestedHeaders }),
  };
  return new Response(null, { status: 204, headers });
}

function isOwn(origin: string, url: string): boolean {
  if (!URL.canParse(origin)) return false;
  const pageUrl = new URL(origin);
  const endpointUrl = new URL(url);
  // Compares only the hosts, because the schemes differ behind a proxy that ends TLS.
  return (
    pageUrl.host === endpointUrl.host ||
    (isLocalHost(pageUrl.hostname) && isLocalHost(endpointUrl.hostname))
  );
}

/**
 * Returns the error for a page that is not listed. Its text contains nothing that was not checked.
 */
function originError(origin: string): AgentError {
  const problem = isOrigin(origin)
    ? `Pages of ${origin} may not call this endpoint. To allow them, add "${origin}" to the option cors of createAgentHandler`
    : 'Pages without a web origin, such as files, may not call this endpoint. Serve the page over http or https';
  return new AgentError('UNAUTHORIZED', `${problem}.`);
}
