import { AgentError } from '@isoloop/core';
import type { MiddlewareHandler } from 'hono';
import { logError } from './error-response.ts';
import type { EdgeEnv, HandlerSettings } from '../handler-options.ts';

/** A rate limit binding; Workers counts per location. */
export interface RateLimiter {
  limit(options: { readonly key: string }): Promise<{ readonly success: boolean }>;
}

/**
 * Counts a user's requests if a limiter is bound. Throws `LIMIT_EXCEEDED`, or `OVERLOADED` if the
 * limiter fails.
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
