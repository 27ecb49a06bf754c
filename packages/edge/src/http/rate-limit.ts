import { AgentError } from '@isoloop/core';
import type { MiddlewareHandler } from 'hono';
import { logError } from './error-response.ts';
import type { EdgeEnv, HandlerSettings } from '../handler-options.ts';

/** Rate limit binding. Cloudflare counts the requests of each location separately. */
export interface RateLimiter {
  limit(options: { readonly key: string }): Promise<{ readonly success: boolean }>;
}

/**
 * Returns middleware that counts each user's requests, if there is a limiter. Throws
 * `LIMIT_EXCEEDED` after too many requests, and `OVERLOADED` if the limiter fails.
 */
export function rateLimited({
  rateLimit,
}: Pick<HandlerSettings, 'rateLimit'>): MiddlewareHandler<EdgeEnv> {
  return async (c, next) => {
    const env = (c.env ?? {}) as { readonly RATE_LIMITER?: RateLimiter };
    const limiter = rateLimit ? rateLimit(env) : env.RATE_LIMITER;
    if (limiter && !(await isWithin(limiter, c.get('user'), c.get('requestId')))) {
      throw new AgentError('LIMIT_EXCEEDED', 'There were too many requests; try again later.', {
        details: { retryAfterMs: 60_000 },
      });
    }
    await next();
  };
}

async function isWithin(limiter: RateLimiter, key: string, requestId: string): Promise<boolean> {
  try {
    return (await limiter.limit({ key })).success;
  } catch (cause) {
    logError(cause, requestId);
    throw new AgentError('OVERLOADED', 'Requests cannot be counted right now; try again later.', {
      cause,
      details: { retryAfterMs: 10_000 },
    });
  }
}
