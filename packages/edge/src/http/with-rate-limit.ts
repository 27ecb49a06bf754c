import { AgentError } from '@isoloop/core';
import type { Context } from 'hono';
import { connectedAddress } from './request-context.ts';
import type { RateLimiter, EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import type { Identify } from '../settings/endpoint-part.ts';

/** Cloudflare's binding counts for 10 or 60 seconds, and does not tell which. */
const longestPeriodMs = 60_000;

/**
 * Returns a function that calls `identify` and counts the request, if there is a limiter.
 * `identify` returns the key to count for. A failed login counts for the sender's address. The
 * function rejects with `LIMIT_EXCEEDED` after too many requests, and with `OVERLOADED` if the
 * limiter fails.
 */
export function withRateLimit(
  settings: Pick<HandlerSettings, 'rateLimit'>,
  identify: Identify,
): (c: Context<EdgeEnv>) => Promise<void> {
  const count = async (c: Context<EdgeEnv>, key: string): Promise<void> => {
    const env = (c.env ?? {}) as { readonly RATE_LIMITER?: RateLimiter };
    const limiter = settings.rateLimit ? settings.rateLimit(env) : env.RATE_LIMITER;
    if (!limiter) return;
    const { success, retryAfterMs = longestPeriodMs } = await ask(limiter, key);
    if (success) return;
    throw new AgentError('LIMIT_EXCEEDED', 'There were too many requests; try again later.', {
      details: { retryAfterMs },
    });
  };
  return async (c) => {
    let key: string;
    try {
      key = await identify(c);
    } catch (error) {
      // Counted only after the login has failed, so that nobody can lock out users of an address.
      const isRefused = AgentError.is(error) && error.code === 'UNAUTHORIZED';
      if (isRefused) await count(c, `login:${senderOf(c)}`);
      throw error;
    }
    await count(c, key);
  };
}

/**
 * Returns the key that counts a user's requests. Keys of logins and operators begin differently.
 */
export function keyOfUser(user: string): string {
  return /^(login|operator|user):/.test(user) ? `user:${user}` : user;
}

/**
 * Returns the sender's address, or an empty text if nobody tells it reliably. Of an IPv6 address,
 * returns the first half: one sender has all addresses that begin with it.
 */
function senderOf({ env, req: { raw: request } }: Context<EdgeEnv>): string {
  // Only Cloudflare sets `cf` and overwrites the header. Elsewhere a client can write the header.
  const isAtCloudflare = (request as { readonly cf?: unknown }).cf !== undefined;
  const sender = isAtCloudflare
    ? request.headers.get('cf-connecting-ip')
    : connectedAddress(env, request);
  // Node writes the IPv4 addresses of an IPv6 socket with this prefix.
  const address = sender?.replace(/^::ffff:(?=\d+\.)/i, '') ?? '';
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
}

async function ask(limiter: RateLimiter, key: string): ReturnType<RateLimiter['limit']> {
  try {
    return await limiter.limit({ key });
  } catch (cause) {
    throw new AgentError('OVERLOADED', 'Requests cannot be counted; try again later.', {
      cause,
      details: { retryAfterMs: 10_000 },
    });
  }
}
