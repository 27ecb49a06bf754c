import { AgentError } from '@isoloop/core';

/** Content of the signed session token that a client receives and sends with its next request. */
export interface Echo {
  /** Time at which the client learned this state, in milliseconds since 1970. */
  readonly issuedAt: number;
  /**
   * State that the client continues from: the name of its last batch. That batch and all batches
   * that it names are the whole log. Absent if the client's turn began the session.
   */
  readonly base?: string | undefined;
  /** Id of the client's turn, if the client has not seen its outcome. */
  readonly turnId?: string;
  /**
   * Earlier turns whose outcome the client has not seen, each with the time of its echo in
   * milliseconds since 1970.
   */
  readonly unseenTurns?: readonly (readonly [turnId: string, issuedAt: number])[] | undefined;
  /** Last batches of the branches that the client has decided against. */
  readonly overruledTips?: readonly string[] | undefined;
}

/** Version of the payload of echoes. Others are refused. */
const echoVersion = 4;
/** Maximum length of an echo, in characters. Longer echoes are refused. */
const maxEchoLength = 4096;
const minSecretLength = 32;

/**
 * Signs and verifies a session's echoes with HMAC-SHA-256. The first secret signs; each secret
 * verifies. Throws `CONFIGURATION` unless there are one or two secrets of at least 32 characters.
 */
export class EchoSigner {
  readonly #secrets: readonly string[];
  readonly #sessionId: string;

  constructor(secrets: readonly string[], sessionId: string) {
    const isUsable = (secret: unknown): boolean =>
      typeof secret === 'string' && secret.length >= minSecretLength;
    if (![1, 2].includes(secrets.length) || !secrets.every(isUsable)) {
      const rule = `one or two secrets of ${minSecretLength} characters or more`;
      throw new AgentError('CONFIGURATION', `A session's echo needs ${rule}`);
    }
    this.#secrets = secrets;
    this.#sessionId = sessionId;
  }

  async sign(echo: Echo): Promise<string> {
    const payload = toBase64Url(JSON.stringify({ v: echoVersion, ...echo }));
    const key = await keyOf(this.#secrets[0]!);
    const mac = await crypto.subtle.sign('HMAC', key, this.#bytesToSign(payload));
    return `${payload}.${toBase64Url(String.fromCharCode(...new Uint8Array(mac)))}`;
  }

  /** Verifies an echo. Rejects with `INVALID_INPUT` if no secret signed it for this session. */
  async verify(text: string): Promise<Echo> {
    const [, payload, mac] =
      (typeof text === 'string' && text.length <= maxEchoLength && shape.exec(text)) || [];
    if (payload === undefined || mac === undefined) throw echoError();
    const signature = Uint8Array.from(fromBase64Url(mac), (byte) => byte.charCodeAt(0));
    const signedBytes = this.#bytesToSign(payload);
    let isSigned = false;
    for (const secret of this.#secrets) {
      const key = await keyOf(secret);
      if (await crypto.subtle.verify('HMAC', key, signature, signedBytes)) isSigned = true;
    }
    if (!isSigned) throw echoError();
    const { v, ...echo } = JSON.parse(fromBase64Url(payload)) as Echo & { readonly v: unknown };
    if (v !== echoVersion) throw echoError();
    return echo;
  }

  /** Returns the bytes to sign, bound to this session and to this use of the secret. */
  #bytesToSign(payload: string): Uint8Array {
    return toUtf8(JSON.stringify(['isoloop-echo', this.#sessionId, payload]));
  }
}

/**
 * An echo: a payload and a signature of 43 characters. The last of them has two unused bits, which
 * must be 0. Otherwise four texts would have the same signature.
 */
const shape = /^([\w-]+)\.([\w-]{42}[AEIMQUYcgkosw048])$/;

/** Imports a secret at each use: a cache would keep the secrets of all tenants in memory. */
function keyOf(secret: string): Promise<CryptoKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return crypto.subtle.importKey('raw', toUtf8(secret), algorithm, false, ['sign', 'verify']);
}

function toUtf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function echoError(): AgentError {
  return new AgentError('INVALID_INPUT', 'The echo was not issued for this session', {
    details: { param: 'echo' },
  });
}

/** Encodes text of characters below 256. JSON of ids has only such characters. */
function toBase64Url(bytes: string): string {
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function fromBase64Url(text: string): string {
  try {
    return atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    throw echoError();
  }
}
