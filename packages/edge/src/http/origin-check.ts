import { AgentError } from '@isoloop/core';
import type { MiddlewareHandler } from 'hono';
import { isLocalHost } from './access.ts';
import { errorResponse } from './error-response.ts';
import type { EdgeEnv } from '../handler-options.ts';

/**
 * Returns middleware that refuses requests from pages of unlisted origins with 403. Without this
 * check a browser would hide the answer from such a page, but the turn would still run. Accepts
 * requests of programs, which send no origin, and of the endpoint's own pages. An endpoint on a
 * local host accepts requests from any local page.
 */
export function knownOrigins(origins: readonly string[]): MiddlewareHandler<EdgeEnv> {
  return async (c, next) => {
    const origin = c.req.header('origin');
    if (origin === undefined || origins.includes(origin) || isOwn(origin, c.req.url)) return next();
    const error = new AgentError('UNAUTHORIZED', 'Pages of this origin may not call here.');
    return errorResponse(error, {
      requestId: c.get('requestId'),
      face: c.get('face'),
      status: 403,
    });
  };
}

function isOwn(origin: string, url: string): boolean {
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  const own = new URL(url);
  // Compares only the hosts, because the schemes differ behind a proxy that ends TLS.
  return page.host === own.host || (isLocalHost(page.hostname) && isLocalHost(own.hostname));
}
