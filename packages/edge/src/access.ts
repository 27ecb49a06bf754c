import { AgentError } from '@isoloop/core';
import type { MiddlewareHandler } from 'hono';
import { logError } from './error-response.ts';
import type { AgentHandlerOptions, EdgeEnv } from './handler-options.ts';

const localHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export function isLocalHost(hostname: string): boolean {
  return localHosts.has(hostname);
}

/** Lets nobody in whom `authorize` does not know; sets `user`. Throws `UNAUTHORIZED`. */
export function access({ authorize }: AgentHandlerOptions): MiddlewareHandler<EdgeEnv> {
  return async (c, next) => {
    c.set('user', authorize ? await identify(() => authorize(c.req.raw, c.env), c.get('requestId')) : localUser(c.req.url));
    await next();
  };
}

async function identify(authorize: () => ReturnType<NonNullable<AgentHandlerOptions['authorize']>>, requestId: string): Promise<string> {
  const refused = 'This request is not authorized.';
  try {
    const caller = await authorize();
    const user: unknown = caller?.user;
    if (typeof user === 'string' && user) return user;
  } catch (cause) {
    logError(cause, requestId);
    throw new AgentError('UNAUTHORIZED', refused, { cause });
  }
  throw new AgentError('UNAUTHORIZED', refused);
}

function localUser(url: string): string {
  if (isLocalHost(new URL(url).hostname)) return 'local';
  throw new AgentError('UNAUTHORIZED', 'Without `authorize` only localhost is answered: pass `authorize` to createAgentHandler.');
}
