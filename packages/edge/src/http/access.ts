import { AgentError } from '@isoloop/core';
import type { Context } from 'hono';
import { connectedAddress } from './request-context.ts';
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
  let hasWarned = false;
  return async (c) => {
    let caller: Caller;
    if (authorize) caller = await logIn(c, () => identify(c, authorize));
    else {
      checkIsLocal(c);
      caller = { user: 'local' };
      if (!hasWarned) console.warn(localWarning);
      hasWarned = true;
    }
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

/** Headers in which proxies name the sender's address. */
const senderHeaders = (
  'cf-connecting-ip true-client-ip x-real-ip x-forwarded-for x-client-ip x-cluster-client-ip fly-client-ip ' +
  'fastly-client-ip x-azure-clientip x-envoy-external-address x-original-forwarded-for do-connecting-ip ' +
  'x-nf-client-connection-ip'
).split(' ');
/** Headers that only proxies send. */
const proxyHeaders: readonly string[] = ['forwarded', 'via', 'cdn-loop'];
const loopback = /^(\[?::1\]?|(::ffff:)?127\.\d+\.\d+\.\d+)$/i;

const localWarning =
  'This endpoint has no `authorize`, so all requests that look local act as one user. ' +
  'A proxy on this machine, such as nginx, can make requests of strangers look local. ' +
  'Before others can reach the endpoint, pass `authorize` to createAgentHandler.';

/**
 * Throws `UNAUTHORIZED` unless everything that is known about a request says that it is local. The
 * header `host` alone proves nothing: the sender can write any host, and nginx writes its own.
 */
function checkIsLocal({ env, req }: Context<EdgeEnv>): void {
  const { headers, url } = req.raw;
  const valuesOf = (names: readonly string[]): readonly string[] =>
    names.flatMap((name) => headers.get(name)?.split(',') ?? []).map((value) => value.trim());
  const connected = connectedAddress(env, req.raw);
  const addresses = [...valuesOf(senderHeaders), ...(connected === undefined ? [] : [connected])];
  const forwardedHosts = valuesOf(['x-forwarded-host']).map((host) => `http://${host}`);
  const urls = [url, ...forwardedHosts, ...valuesOf(['origin', 'referer'])];
  if (
    addresses.every((address) => loopback.test(address)) &&
    urls.every((each) => URL.canParse(each) && isLocalHost(new URL(each).hostname)) &&
    !valuesOf(proxyHeaders).length &&
    httpVersionOf(env) !== '1.0'
  )
    return;
  throw new AgentError(
    'UNAUTHORIZED',
    'Without `authorize`, only localhost may call. Pass `authorize` to createAgentHandler.',
  );
}

/**
 * Returns the version of a request's protocol, if `@hono/node-server` tells it. By default, nginx
 * before 1.29.7 uses version 1.0, which no browser uses.
 */
function httpVersionOf(env: unknown): string | undefined {
  return (Object(env) as { readonly incoming?: { readonly httpVersion?: string } }).incoming
    ?.httpVersion;
}
