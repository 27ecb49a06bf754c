import { AgentError } from '../error/agent-error.ts';
import { isRecord } from '../message/json/is-record.ts';
import { joinValue } from '../memory/split-value.ts';

/** One record of long-term memory, as the store has it in JSON. */
export interface StoredRecord {
  readonly v: typeof formatVersion;
  readonly sessionId: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly parts: readonly { readonly speaker: string; readonly text: string }[];
}

export const formatVersion = 1;

/**
 * Maximum length of namespace and session id in a key, percent-encoded. Cloudflare KV limits keys
 * to 512 bytes, and the rest of a key needs less than 70.
 */
export const maxEncoded = 440;

const refPattern = /^[^:]+:([0-9a-z]+)-[\w-]+?(?:~(\d+))?$/;

/**
 * The keys of records: `ltm:<namespace>:<ref>`. A ref is `<session>:<time>-<id>`, plus `~<n>` if
 * the record needs n values. The keys of further values end with `:1`, `:2` and so on. A prefix of
 * the key finds the records of one session or of all sessions.
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

  /** Throws `INVALID_INPUT` if namespace and session id together are too long for a key. */
  session(sessionId: string): string {
    return `${this.prefix}${encode(sessionId, 'session id', maxEncoded - this.prefix.length)}:`;
  }

  /**
   * Returns the key of a record. `at`: milliseconds since 1970. Throws the errors of `session`, and
   * `INVALID_INPUT` unless the id is 1 to 40 letters, digits, `_` or `-`.
   */
  key(sessionId: string, at: number, id: string, values: number): string {
    if (!/^[\w-]{1,40}$/.test(id))
      throw new AgentError(
        'INVALID_INPUT',
        `"${id}" cannot be part of a key. Use at most 40 letters, digits, _ and -`,
      );
    return `${this.session(sessionId)}${Math.trunc(at).toString(36).padStart(9, '0')}-${id}${values > 1 ? `~${values}` : ''}`;
  }

  /**
   * Returns the record's creation time as sortable text. Returns `undefined` unless `key` is a
   * record's first key.
   */
  time(key: string): string | undefined {
    return refPattern.exec(this.ref(key))?.[1];
  }

  ref(key: string): string {
    return key.slice(this.prefix.length);
  }

  /** Returns all keys of a record, the first one first. */
  values(key: string): readonly string[] {
    const count = Number(refPattern.exec(this.ref(key))?.[2] ?? 1);
    return Array.from({ length: count }, (_, index) => (index === 0 ? key : `${key}:${index}`));
  }
}

/** Parses a record. Throws `STORAGE_FAILED` if the values are damaged or have another format. */
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
 * Percent-encodes text for a key. Throws `INVALID_INPUT` if the text is empty, malformed or,
 * encoded, longer than `limit` characters.
 */
export function encode(text: string, what: string, limit: number): string {
  let encoded = '';
  try {
    encoded = encodeURIComponent(text);
  } catch {
    // The text has a lone surrogate; the error below rejects it.
  }
  if (typeof text === 'string' && encoded.length > 0 && encoded.length <= limit) return encoded;
  throw new AgentError(
    'INVALID_INPUT',
    `The ${what} must be well-formed text of 1 to ${limit} characters, percent-encoded`,
  );
}
