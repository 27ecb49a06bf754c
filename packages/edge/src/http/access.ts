import { AgentError } from '@isoloop/core';
import type { MiddlewareHandler } from 'hono';
import { logError } from './error-response.ts';
import type { AgentHandlerOptions, EdgeEnv } from '../handler-options.ts';

const localHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export function isLocalHost(hostname: string): boolean {
  return localHosts.has(hostname);
}

/** Refuses callers that `authorize` does not identify, and sets `user`. Throws `UNAUTHORIZED`. */
export function access({
  authorize,
}: Pick<AgentHandlerOptions, 'authorize'>): MiddlewareHandler<EdgeEnv> {
  return async (c, next) => {
    c.set(
      'user',
      authorize
        ? await identify(() => authorize(c.req.raw, c.env), c.get('requestId'))
        : localUser(c.req.raw),
    );
    await next();
  };
}

async function identify(
  authorize: () => ReturnType<NonNullable<AgentHandlerOptions['authorize']>>,
  requestId: string,
): Promise<string> {
  const refused = 'This request is not authorized.';
  try {
    const caller = await authorize();
    const user: unknown = caller?.user;
    if (typeof user === 'string' && user) return checkUser(user);
  } catch (cause) {
    logError(cause, requestId);
    throw new AgentError('UNAUTHORIZED', refused, { cause });
  }
  throw new AgentError('UNAUTHORIZED', refused);
}

/**
 * Longest user id, percent-encoded. Store keys begin with it and must have room for the session id.
 */
const maxUser = 256;

function checkUser(user: string): string {
  // `encodeURIComponent` throws for half a character. Stores write the same mark for every half, so
  // two users could become one.
  if (encodeURIComponent(user).length <= maxUser) return user;
  throw new AgentError(
    'CONFIGURATION',
    `authorize() returned a user of more than ${maxUser} characters, percent-encoded. Return a digest of it.`,
  );
}

/**
 * Headers in which proxies name the sender. The `host` header proves nothing: the sender writes it.
 */
const senders: readonly string[] = [
  'cf-connecting-ip',
  'true-client-ip',
  'x-real-ip',
  'x-forwarded-for',
];
const loopback = /^(\[?::1\]?|(::ffff:)?127\.\d+\.\d+\.\d+)$/i;

function localUser({ url, headers }: Request): string {
  const from = senders.flatMap((name) => headers.get(name)?.split(',') ?? []);
  if (
    isLocalHost(new URL(url).hostname) &&
    from.every((address) => loopback.test(address.trim())) &&
    !headers.has('forwarded')
  )
    return 'local';
  throw new AgentError(
    'UNAUTHORIZED',
    'Without `authorize`, only localhost may call. Pass `authorize` to createAgentHandler.',
  );
}
