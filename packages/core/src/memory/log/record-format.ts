import { AgentError } from '../../error/agent-error.ts';
import { isRecord } from '../../message/is-record.ts';
import { joinValue } from './split-value.ts';

/** What the store holds for one record, as JSON. */
export interface StoredRecord {
  readonly v: typeof formatVersion;
  readonly sessionId: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly parts: readonly { readonly speaker: string; readonly text: string }[];
}

export const formatVersion = 1;

/** Cloudflare's KV takes keys of 512 bytes; what else is in a key needs less than 70. */
export const maxEncoded = 440;

const refPattern = /^[^:]+:([0-9a-z]+)-[\w-]+?(?:~(\d+))?$/;

/**
 * Where records are: `ltm:<namespace>:<ref>`, a ref being `<session>:<time>-<id>`, with `~<n>`
 * behind it where the record takes n values; the further ones have `:1`, `:2` … behind the key. A
 * listing by prefix gives the records of a session, or of all of them.
 */
export class RecordKeys {
  readonly prefix: string;

  /**
   * Throws `INVALID_INPUT` for a namespace that is empty or has more than 200 characters,
   * percent-encoded.
   */
  constructor(namespace: string) {
    this.prefix = `ltm:${encode(namespace, 'namespace', 200)}:`;
  }

  /** Throws `INVALID_INPUT` where namespace and session id together are too long for a key. */
  session(sessionId: string): string {
    return `${this.prefix}${encode(sessionId, 'session id', maxEncoded - this.prefix.length)}:`;
  }

  /**
   * `at`: milliseconds since 1970. Throws `INVALID_INPUT` for an id of other than letters, digits,
   * `_` and `-`, as well.
   */
  key(sessionId: string, at: number, id: string, values: number): string {
    if (!/^[\w-]{1,40}$/.test(id))
      throw new AgentError(
        'INVALID_INPUT',
        `"${id}" can't be part of a key: letters, digits, _ and -, at most 40`,
      );
    return `${this.session(sessionId)}${Math.trunc(at).toString(36).padStart(9, '0')}-${id}${values > 1 ? `~${values}` : ''}`;
  }

  /**
   * When the record was made, as text that sorts; `undefined` for a key that is no record's first.
   */
  time(key: string): string | undefined {
    return refPattern.exec(this.ref(key))?.[1];
  }

  ref(key: string): string {
    return key.slice(this.prefix.length);
  }

  /** All keys of a record, the first one first. */
  values(key: string): readonly string[] {
    const count = Number(refPattern.exec(this.ref(key))?.[2] ?? 1);
    return Array.from({ length: count }, (_, index) => (index === 0 ? key : `${key}:${index}`));
  }
}

/** Throws `STORAGE_FAILED` where the values are no record, or one of another format. */
export function parseRecord(key: string, values: readonly string[]): StoredRecord {
  let value: unknown;
  try {
    value = JSON.parse(joinValue(values));
  } catch (cause) {
    throw damaged(key, cause);
  }
  if (!isRecord(value)) throw damaged(key);
  if (value['v'] !== formatVersion) {
    const text = `The long-term record ${key} has format ${String(value['v'])}; this version of the library reads ${formatVersion}`;
    throw new AgentError('STORAGE_FAILED', text, { details: { key } });
  }
  const { sessionId, createdAt, parts } = value;
  if (typeof sessionId !== 'string' || Number.isNaN(Date.parse(String(createdAt))))
    throw damaged(key);
  if (!Array.isArray(parts) || !parts.every(isPart)) throw damaged(key);
  return value as unknown as StoredRecord;
}

function isPart(value: unknown): boolean {
  return (
    isRecord(value) && typeof value['speaker'] === 'string' && typeof value['text'] === 'string'
  );
}

function damaged(key: string, cause?: unknown): AgentError {
  return new AgentError('STORAGE_FAILED', `The long-term record ${key} in the store is damaged`, {
    cause,
    details: { key },
  });
}

/**
 * Percent-encoded, for a key. Throws `INVALID_INPUT` for what is no well-formed text or longer than
 * the limit.
 */
export function encode(text: string, what: string, limit: number): string {
  let encoded = '';
  try {
    encoded = encodeURIComponent(text);
  } catch {
    // A lone surrogate: refused below.
  }
  if (typeof text === 'string' && encoded.length > 0 && encoded.length <= limit) return encoded;
  throw new AgentError(
    'INVALID_INPUT',
    `The ${what} must be well-formed text of 1 to ${limit} characters, percent-encoded`,
  );
}
