import { AgentError } from '@isoloop/core';
import { monotonicNow, sleepFor } from '@isoloop/core/wait';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { readText } from '../http/request-body.ts';

export interface IssuerKeysOptions {
  readonly url: URL;
  readonly send: typeof fetch;
  /** Time limit of one request, in milliseconds. */
  readonly timeoutMs: number;
  /** Time for which the last good keys serve while no newer ones can be read, in milliseconds. */
  readonly keepMs: number;
}

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** Age at which keys are read again, in milliseconds (as in jose). */
const freshMs = 600_000;
/**
 * Minimum age of the keys before an unknown key id makes the endpoint read them again (as in jose).
 */
const cooldownMs = 30_000;
/** Time without a further request after a failed one, in milliseconds. */
const retryMs = 10_000;
/** Maximum length of the document, in bytes. */
const maxBytes = 262_144;
/** Interval at which a request looks whether another one has read the keys, in milliseconds. */
const pollMs = 20;

/**
 * Returns a function that finds the issuer's key for a token. It reads the keys when needed and
 * keeps them. If they cannot be read, the last good keys serve for `keepMs`. Without such keys, it
 * rejects with `OVERLOADED`: whether the token is valid is not known.
 *
 * One request reads. Meanwhile, the others use the last good keys, or wait. They look again and
 * again, because a Worker cannot await a promise of another request (panva/jose#355).
 */
export function issuerKeys(options: IssuerKeysOptions): JWTVerifyGetKey {
  const { keepMs, timeoutMs } = options;
  let lastKeys: { readonly keys: KeySet; readonly at: number } | undefined;
  let lastFailure: { readonly cause: unknown; readonly at: number } | undefined;
  let currentRead: { readonly at: number } | undefined;

  /** Returns the last good keys if they are younger than a time. */
  const youngerThan = (ageMs: number): KeySet | undefined =>
    lastKeys && monotonicNow() - lastKeys.at < ageMs ? lastKeys.keys : undefined;

  /**
   * Returns whether a request reads the keys. A request that the runtime ended never ends its read.
   */
  const isReading = (): boolean =>
    currentRead !== undefined && monotonicNow() - currentRead.at < timeoutMs + pollMs;

  const refresh = async (): Promise<void> => {
    const thisRead = { at: monotonicNow() };
    currentRead = thisRead;
    try {
      lastKeys = { keys: await readKeys(options), at: monotonicNow() };
      lastFailure = undefined;
    } catch (cause) {
      lastFailure = { cause, at: monotonicNow() };
    }
    if (currentRead === thisRead) currentRead = undefined;
  };

  /** Returns keys that are younger than `maxAgeMs`, or the last good ones during an outage. */
  const keysWithin = async (maxAgeMs: number, useOld: boolean): Promise<KeySet> => {
    const oldKeys = useOld ? youngerThan(keepMs) : undefined;
    while (isReading() && !youngerThan(maxAgeMs)) {
      if (oldKeys) return oldKeys;
      await sleepFor(pollMs);
    }
    const hasJustFailed = lastFailure && monotonicNow() - lastFailure.at < retryMs;
    if (!youngerThan(maxAgeMs) && !hasJustFailed) await refresh();
    const keys = youngerThan(maxAgeMs) ?? oldKeys;
    if (!keys) throw keysUnavailableError(lastFailure?.cause);
    return keys;
  };

  return async (header, token) => {
    const keys = await keysWithin(freshMs, true);
    try {
      return await keys(header, token);
    } catch (error) {
      // A key that cannot be imported says nothing about the token.
      if (!(error instanceof errors.JOSEError)) throw keysUnavailableError(error);
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The issuer may have begun to use a new key.
      const newer = await keysWithin(cooldownMs, false);
      if (newer === keys) throw error;
      return newer(header, token);
    }
  };
}

/** Returns the error for a token that cannot be checked, because the issuer's keys are missing. */
export function keysUnavailableError(cause: unknown): AgentError {
  const message = "The keys of the tokens' issuer cannot be read right now; try again later.";
  return new AgentError('OVERLOADED', message, {
    cause,
    retryable: true,
    details: { retryAfterMs: retryMs },
  });
}

async function readKeys({ url, send, timeoutMs }: IssuerKeysOptions): Promise<KeySet> {
  const signal = AbortSignal.timeout(timeoutMs);
  // `send` may ignore the signal.
  const timeout = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
  const document = await Promise.race([read(url, send, signal), timeout]);
  const keys = createLocalJWKSet(document);
  // An issuer without keys refuses everybody, so this is a failure of its server.
  if (!document.keys.some(({ kty }) => typeof kty === 'string' && kty !== 'oct'))
    throw new Error('The document has no public key.');
  return keys;
}

async function read(url: URL, send: typeof fetch, signal: AbortSignal): Promise<JSONWebKeySet> {
  const response = await send(url.href, {
    headers: { accept: 'application/json, application/jwk-set+json' },
    redirect: 'manual',
    signal,
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The server of the keys answered with HTTP ${response.status}.`);
  }
  return JSON.parse(await readText(response, maxBytes)) as JSONWebKeySet;
}
