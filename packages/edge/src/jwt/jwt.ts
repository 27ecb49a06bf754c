import { AgentError } from '@isoloop/core';
import { addSecrets } from '@isoloop/core/error';
import {
  checkOptions,
  anything,
  func,
  optional,
  nonNegative,
  array,
  type AllFields,
  type OptionTable,
} from '@isoloop/core/options';
import {
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';
import { isLocalHost } from '../http/access.ts';
import { readBearer } from '../http/bearer-token.ts';
import { issuerKeys, keysUnavailableError } from './issuer-keys.ts';
import type { Caller } from '../settings/handler-options.ts';

/**
 * How `jwt()` checks a token: its issuer and its audience, and either the issuer's keys or a shared
 * secret.
 */
export type JwtOptions<Env extends object = object> = JwtClaims & (JwtByKeySet | JwtBySecret<Env>);

interface JwtClaims {
  /** Issuer (`iss`) that a token must have. */
  readonly issuer: string;
  /** Audience (`aud`) that a token must have. */
  readonly audience: string;
  /**
   * Function that returns the user id from the claims, or `null` to refuse the request. Default:
   * the claim `sub`. A blank user refuses the request, too.
   */
  readonly user?: (claims: JWTPayload) => string | null;
  /** Maximum difference between the clocks of issuer and Worker, in seconds. Default: 5. */
  readonly clockTolerance?: number;
}

interface JwtByKeySet {
  /**
   * URL of the JWKS document with the issuer's public keys, of at most 256 KiB. It is fetched when
   * needed, kept for 10 minutes, and fetched again for an unknown key id, at most every 30 seconds.
   */
  readonly jwksUrl: string;
  /** Accepted signature algorithms. Default: `RS256`, `PS256`, `ES256` and `EdDSA`. */
  readonly algorithms?: readonly string[];
  /** Function that fetches the keys. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Time limit for the document, in milliseconds. Default: 5,000. */
  readonly timeoutMs?: number;
  /**
   * Time for which the last good keys serve while the document cannot be read, in milliseconds. A
   * key that the issuer withdraws during an outage is accepted for that long. Default: 3,600,000
   * (one hour).
   */
  readonly keepKeysMs?: number;
}

interface JwtBySecret<Env> {
  /**
   * Function that returns the secret with which the issuer signs tokens (HS256), from the Worker's
   * bindings. The secret must have 32 bytes or more.
   */
  readonly secret: (env: Env) => string;
}

/**
 * Creates an `authorize` function that reads a JSON Web Token from `Authorization: Bearer …`. The
 * package jose checks the token's signature, issuer, audience and expiry time. A token without an
 * expiry time is invalid. A request with an invalid token is refused. Rejects with `OVERLOADED`
 * if the issuer's keys cannot be read and the last good ones are too old. The endpoint then answers
 * 503 and counts no failed login. Throws `CONFIGURATION` for invalid options.
 *
 * @example
 * authorize: jwt({
 *   jwksUrl: 'https://login.example.com/.well-known/jwks.json',
 *   issuer: 'https://login.example.com/',
 *   audience: 'chat',
 * })
 */
export function jwt<Env extends object = object>(
  options: JwtOptions<Env>,
): (request: Request, env: Env) => Promise<Caller | null> {
  checkOptions('jwt()', options, jwtOptions);
  const { issuer, audience, user = ({ sub }) => sub ?? null, clockTolerance = 5 } = options;
  if (!issuer || !audience)
    throw new AgentError(
      'CONFIGURATION',
      'jwt() needs the `issuer` and the `audience` of its tokens.',
    );
  const { timeoutMs = 5_000, keepKeysMs: keepMs = 3_600_000 }: Partial<JwtByKeySet> =
    'secret' in options ? {} : options;
  if (!(timeoutMs > 0 && timeoutMs <= 600_000) || !(keepMs >= 0))
    throw new AgentError(
      'CONFIGURATION',
      'jwt(): `timeoutMs` must be from 1 to 600,000, and `keepKeysMs` a number of milliseconds.',
    );
  const checks: JWTVerifyOptions = { issuer, audience, clockTolerance, requiredClaims: ['exp'] };
  let keys: JWTVerifyGetKey | undefined;

  const verify = async (token: string, env: Env): Promise<JWTPayload> => {
    if ('secret' in options) {
      const key = secretKey(options.secret(env) ?? '');
      return (await jwtVerify(token, key, { ...checks, algorithms: ['HS256'] })).payload;
    }
    const {
      jwksUrl,
      algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'],
      fetch: send = fetch,
    } = options;
    // With an HS algorithm, anybody could sign a token with the public key as the secret.
    if (algorithms.some((name) => /^(HS|none)/i.test(name))) {
      throw new AgentError(
        'CONFIGURATION',
        'jwt(): `jwksUrl` needs algorithms with public keys, such as RS256.',
      );
    }
    const url = URL.canParse(jwksUrl) ? new URL(jwksUrl) : undefined;
    // Over plain http, an attacker on the network could replace the keys.
    if (!url || (url.protocol !== 'https:' && !isLocalHost(url.hostname)))
      throw new AgentError('CONFIGURATION', 'jwt(): `jwksUrl` must be https.');
    keys ??= issuerKeys({ url, send: (...args) => send(...args), timeoutMs, keepMs });
    return (await jwtVerify(token, keys, { ...checks, algorithms: [...algorithms] })).payload;
  };

  return async (request, env) => {
    const token = readBearer(request);
    if (token === undefined) return null;
    try {
      const name: unknown = user(await verify(token, env));
      return typeof name === 'string' && name.trim() ? { user: name } : null;
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
      // Other errors of jose mean that the token is invalid.
      if (!isKeyError(error)) return null;
      throw keysUnavailableError(error);
    }
  };
}

function secretKey(secret: string): Uint8Array {
  const key = new TextEncoder().encode(secret);
  if (key.length < 32)
    throw new AgentError(
      'CONFIGURATION',
      'jwt(): the secret is not set, or has less than 32 bytes.',
    );
  addSecrets([secret]);
  return key;
}

const jwtOptions: OptionTable<AllFields<JwtOptions>> = {
  issuer: anything,
  audience: anything,
  user: optional(func),
  clockTolerance: optional(nonNegative),
  secret: optional(func),
  jwksUrl: anything,
  algorithms: optional(array),
  fetch: optional(func),
  timeoutMs: anything,
  keepKeysMs: anything,
};

/** Returns whether the issuer's keys cannot be used, so that nothing is known about the token. */
function isKeyError({ code }: errors.JOSEError): boolean {
  return /^ERR_(JWKS_INVALID|JWK_INVALID|JOSE_GENERIC)$/.test(code);
}
