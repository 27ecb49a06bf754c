import { addSecrets } from '@isoloop/core/error';
import { checkFields, func } from '@isoloop/core/options';
import { AgentError, type Awaitable } from '@isoloop/core';
import type { Caller } from '../settings/handler-options.ts';

/**
 * Tokens by user id. Give one token, or a list while you replace a token. Entries of a list may be
 * `undefined`.
 */
export type UserTokens = Readonly<Record<string, string | readonly (string | undefined)[]>>;

/** Minimum length of a token, in characters. Shorter tokens are easy to guess. */
const minTokenLength = 16;

/**
 * Creates an `authorize` function that reads a token from `Authorization: Bearer …`. `tokens`
 * returns each user's tokens from the Worker's secrets. If `tokens` returns a single text, that
 * text is the token of a user named `token`.
 *
 * Each request is compared with the digests of all tokens, so the response time reveals nothing
 * about them. If the token of any user is not set or has less than 16 characters, all requests are
 * refused.
 *
 * @example
 * authorize: bearerToken((env) => ({ ann: env.ANN_TOKEN, ci: [env.CI_TOKEN, env.CI_TOKEN_OLD] }))
 */
export function bearerToken<Env extends object = object>(
  tokens: (env: Env) => Awaitable<string | UserTokens>,
): (request: Request, env: Env) => Promise<Caller | null> {
  checkFields('bearerToken()', { tokens }, { tokens: func });
  return async (request, env) => {
    const sentToken = readBearer(request);
    if (sentToken === undefined) return null;
    const userTokens = await tokens(env);
    const users: UserTokens =
      typeof userTokens === 'string' ? { token: userTokens } : Object(userTokens);
    const digest = await digestOf(sentToken);
    let caller: Caller | null = null;
    for (const [user, list] of Object.entries(users)) {
      const listedTokens = [list].flat();
      const set = listedTokens.filter((token) => token !== undefined);
      for (const token of set.length ? set : listedTokens) {
        checkToken(user, token);
        if (isSame(digest, await digestOf(token))) caller ??= { user };
      }
    }
    if (caller) addSecrets([sentToken]);
    return caller;
  };
}

/** Returns the token in `Authorization: Bearer …`, if there is one. */
export function readBearer(request: Request): string | undefined {
  return /^Bearer +([!-~]+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
}

function checkToken(user: string, token: unknown): asserts token is string {
  if (typeof token === 'string' && token.length >= minTokenLength) return;
  const problem = token === undefined || token === '' ? 'not set' : 'too short';
  throw new AgentError(
    'CONFIGURATION',
    `bearerToken(): the token of "${user}" is ${problem}, so all requests are refused. Set a token of ${minTokenLength} characters or more, such as the output of: openssl rand -hex 16`,
  );
}

async function digestOf(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  let difference = 0;
  for (let index = 0; index < one.length; index++) difference |= one[index]! ^ other[index]!;
  return difference === 0;
}
