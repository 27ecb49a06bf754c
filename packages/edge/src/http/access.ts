import { AgentError } from '@isoloop/core';
import type { Context } from 'hono';
import { logError } from './error-response.ts';
import { keyOfUser } from './with-rate-limit.ts';
import type { Identify } from '../settings/endpoint-part.ts';
import type { AgentHandlerOptions, Caller, EdgeEnv } from '../settings/handler-options.ts';

export function isLocalHost(hostname: string): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
}

/**
 * Returns a function that identifies the caller of a request, sets `caller` and returns the key for
 * the rate limit. The function rejects like `logIn`.
 */
export function callerCheck({ authorize }: Pick<AgentHandlerOptions, 'authorize'>): Identify {
  return async (c) => {
    let caller: Caller;
    if (authorize) caller = await logIn(c, () => identify(c, authorize));
    else caller = { user: localUser(c.req.raw) };
    c.set('caller', caller);
    return keyOfUser(caller.user);
  };
}

async function identify(
  c: Context<EdgeEnv>,
  authorize: NonNullable<AgentHandlerOptions['authorize']>,
): Promise<Caller | undefined> {
  const caller = await authorize(c.req.raw, c.env);
  const user: unknown = caller?.user;
  return typeof user === 'string' && user.trim() ? { ...caller, user: checkUser(user) } : undefined;
}

/**
 * Returns who a request is from. Rejects with `UNAUTHORIZED` if `identity` fails or returns
 * `undefined`, and with `OVERLOADED` if it cannot tell at the moment.
 */
export async function logIn<T extends string | object>(
  c: Context<EdgeEnv>,
  identity: () => Promise<T | undefined>,
): Promise<T> {
  const message = 'This request is not authorized.';
  try {
    const identified = await identity();
    if (identified !== undefined) return identified;
  } catch (cause) {
    // Whether the caller may enter is not known, so this is no failed login.
    if (AgentError.is(cause) && cause.code === 'OVERLOADED') throw cause;
    logError(cause, c.get('requestId'));
    const isUnset = AgentError.is(cause) && cause.code === 'CONFIGURATION';
    const hint = isUnset ? ' The endpoint is set up wrongly; its log says what to write.' : '';
    throw new AgentError('UNAUTHORIZED', message + hint, { cause });
  }
  throw new AgentError('UNAUTHORIZED', message);
}

/**
 * Maximum length of a percent-encoded user id, in characters. Store keys begin with the user id and
 * must have room for the session id.
 */
const maxUserLength = 256;

function checkUser(user: string): string {
  // `encodeURIComponent` throws for a lone surrogate. Stores write every lone surrogate as the same
  // character, so the ids of two users could become the same.
  if (encodeURIComponent(user).length <= maxUserLength) return user;
  throw new AgentError(
    'CONFIGURATION',
    `authorize() returned a user of more than ${maxUserLength} characters, percent-encoded. Return a digest of it.`,
  );
}

/**
 * Headers in which proxies name the sender's address. The `host` header is no proof of a local
 * request, because the sender can write any host.
 */
const senderHeaders = (
  'cf-connecting-ip true-client-ip x-real-ip x-forwarded-for x-client-ip x-cluster-client-ip fly-client-ip ' +
  'fastly-client-ip x-azure-clientip x-envoy-external-address'
).split(' ');
const loopback = /^(\[?::1\]?|(::ffff:)?127\.\d+\.\d+\.\d+)$/i;

function localUser({ url, headers }: Request): string {
  const addresses = senderHeaders.flatMap((name) => headers.get(name)?.split(',') ?? []);
  if (
    isLocalHost(new URL(url).hostname) &&
    addresses.every((address) => loopback.test(address.trim())) &&
    !headers.has('forwarded')
  )
    return 'local';
  throw new AgentError(
    'UNAUTHORIZED',
    'Without `authorize`, only localhost may call. Pass `authorize` to createAgentHandler.',
  );
}
