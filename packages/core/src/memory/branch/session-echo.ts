import { AgentError } from '../../error/agent-error.ts';

/** A state of a session: its last batch, which with what it names is the whole log. */
export interface Tip {
  readonly ref: string;
  readonly hash: string;
  readonly chain: string;
}

/** What a client knows of its session, signed, so that it can hand it in with its next request. */
export interface Echo {
  /** When the client was told, in milliseconds since 1970. */
  readonly at: number;
  /** What it goes on from; absent where the session began with its turn. */
  readonly base?: Tip;
  /** Its turn, whose outcome it has not seen. */
  readonly turnId?: string;
  /** Earlier turns of its that it left, and when. */
  readonly left?: readonly (readonly [turnId: string, at: number])[];
  /** Other branches that it knows of and has decided against. */
  readonly over?: readonly Tip[];
}

/** Characters of an echo; one that has more is none of ours. */
const maxLength = 4096;
const minSecret = 32;

/**
 * Signs and checks a session's echoes: HMAC-SHA-256 by the first of the secrets, checked with each
 * of them. Throws `CONFIGURATION` for none, for more than two, and for one of fewer than 32
 * characters.
 */
export class EchoSigner {
  readonly #secrets: readonly string[];
  readonly #sessionId: string;
  #keys: Promise<readonly CryptoKey[]> | undefined;

  constructor(secrets: readonly string[], sessionId: string) {
    const isUsable = (secret: unknown): boolean =>
      typeof secret === 'string' && secret.length >= minSecret;
    if (
      !Array.isArray(secrets) ||
      !secrets.length ||
      secrets.length > 2 ||
      !secrets.every(isUsable)
    ) {
      throw new AgentError(
        'CONFIGURATION',
        `A session's echo needs one or two secrets of ${minSecret} characters or more`,
      );
    }
    this.#secrets = secrets;
    this.#sessionId = sessionId;
  }

  async sign(echo: Echo): Promise<string> {
    const payload = toBase64Url(JSON.stringify({ v: 1, ...echo }));
    const [key] = await this.#load();
    const mac = await crypto.subtle.sign('HMAC', key!, this.#signed(payload));
    return `${payload}.${toBase64Url(String.fromCharCode(...new Uint8Array(mac)))}`;
  }

  /** `INVALID_INPUT` for what no secret signed for this session. */
  async verify(text: string): Promise<Echo> {
    const [, payload, mac] =
      (typeof text === 'string' &&
        text.length <= maxLength &&
        /^([\w-]+)\.([\w-]{43})$/.exec(text)) ||
      [];
    if (payload === undefined || mac === undefined) throw refused();
    const bytes = fromBase64Url(mac);
    // The last character of 43 has bits to spare: another text for the same bytes is not what was
    // signed.
    if (toBase64Url(bytes) !== mac) throw refused();
    const given = Uint8Array.from(bytes, (character) => character.charCodeAt(0));
    const checks = (await this.#load()).map((key) =>
      crypto.subtle.verify('HMAC', key, given, this.#signed(payload)),
    );
    if (!(await Promise.all(checks)).includes(true)) throw refused();
    const { v, ...echo } = JSON.parse(fromBase64Url(payload)) as Echo & { readonly v: unknown };
    if (v !== 1) throw refused();
    return echo;
  }

  /** Of one session, and for nothing else that the secret may be used for. */
  #signed(payload: string): Uint8Array<ArrayBuffer> {
    return new TextEncoder().encode(JSON.stringify(['isoloop-echo', this.#sessionId, payload]));
  }

  #load(): Promise<readonly CryptoKey[]> {
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    return (this.#keys ??= Promise.all(
      this.#secrets.map((secret) =>
        crypto.subtle.importKey('raw', new TextEncoder().encode(secret), algorithm, false, [
          'sign',
          'verify',
        ]),
      ),
    ));
  }
}

function refused(): AgentError {
  return new AgentError(
    'INVALID_INPUT',
    'The echo is not one that was given out for this session',
    { details: { param: 'echo' } },
  );
}

/** Of characters below 256: JSON of ids and hashes is ASCII. */
function toBase64Url(bytes: string): string {
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function fromBase64Url(text: string): string {
  try {
    return atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    throw refused();
  }
}
