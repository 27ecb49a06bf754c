import { AgentError } from '@isoloop/core';
import type { MiddlewareHandler } from 'hono';
import { isLocalHost } from './access.ts';
import { errorResponse } from './error-response.ts';
import type { EdgeEnv } from '../handler-options.ts';

/**
 * Refuses requests from pages of unlisted origins. A browser would hide the answer from such a
 * page, but the turn would have run. Programs send no origin and pass, and so do the endpoint's own
 * pages. On a local host, any local page may call.
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
  // Compares only hosts: behind a proxy that ends TLS, the schemes differ.
  return page.host === own.host || (isLocalHost(page.hostname) && isLocalHost(own.hostname));
}
