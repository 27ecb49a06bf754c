import { AgentError } from '../../error/agent-error.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import { isRecord } from '../../message/is-record.ts';
import { isLogRecord, type LogRecord } from './log-record.ts';
import { joinValue } from './split-value.ts';

/** The records of one flush. */
export interface Batch {
  readonly v: typeof formatVersion;
  /** Hash of the previous batch; empty for the first one. */
  readonly prev: string;
  readonly records: readonly LogRecord[];
  /** Earlier batches that the head no longer names (`fullLevels`). */
  readonly index?: readonly string[];
  /** In a snapshot: the batches that it replaces. */
  readonly replaces?: readonly string[];
  /**
   * The head that this batch made, without its hash and with the refs from before the batch. Only
   * in a log whose client holds an echo, a signed session token.
   */
  readonly head?: Omit<Head, 'hash'>;
}

/** The one value of a session that is overwritten. */
export interface Head {
  readonly v: typeof formatVersion;
  /** Number of flushes so far. */
  readonly version: number;
  /** Id of the writer: one `SessionMemory`. */
  readonly writer: string;
  /** Id of the log since it was last empty; a different chain is a different log. */
  readonly chain: string;
  /** Hash of the last batch. Each batch's `prev` extends it to a chain over all batches. */
  readonly hash: string;
  /** The batches by level, see `fullLevels`. */
  readonly refs: readonly (readonly string[])[];
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly title?: string;
  /** The writer that has claimed the session; writers without a claim copy this field. */
  readonly leader?: string;
}

/** Format 1 had only messages and cuts, no hashes and no times. */
export const formatVersion = 2;

/** Makes the name of a batch. It sorts by version and tells how many values store the batch. */
export function makeRef(version: number, id: string, values: number): string {
  return `${String(version).padStart(8, '0')}-${id}${values > 1 ? `~${values}` : ''}`;
}

export function versionOf(ref: string): number {
  return Number.parseInt(ref, 10);
}

/**
 * Makes the name of a turn's batch. Its key contains only the turn's id, so that readers find it
 * wherever the turn is in the log.
 */
export function makeTurnRef(version: number, turnId: string, values: number): string {
  return `${String(version).padStart(8, '0')}.${turnId}${values > 1 ? `~${values}` : ''}`;
}

/** Returns the id of the turn that wrote the batch; `undefined` if the ref has none. */
export function turnOf(ref: string): string | undefined {
  return /^\d{8}\.([\w-]+)/.exec(ref)?.[1];
}

const refPattern = /^\d{8}[-.][\w-]+(?:~(\d+))?$/;

/**
 * The keys of a session's values: `s:<id>:head`, `s:<id>:r:<ref>` and, for turns, `s:<id>:t:<turn
 * id>`. Further values add `:1`, `:2` … to the key.
 */
export class SessionKeys {
  readonly prefix: string;
  readonly head: string;

  constructor(sessionId: string) {
    this.prefix = `s:${encodeSessionId(sessionId)}:`;
    this.head = `${this.prefix}head`;
  }

  batch(ref: string): readonly string[] {
    const turnId = turnOf(ref);
    const first = turnId === undefined ? `${this.prefix}r:${ref}` : `${this.prefix}t:${turnId}`;
    const values = Number(refPattern.exec(ref)?.[1] ?? 1);
    return Array.from({ length: values }, (_, index) =>
      index === 0 ? first : `${first}:${index}`,
    );
  }

  /** Returns the refs of the batches among these keys, without those of turns. */
  refs(keys: readonly string[]): readonly string[] {
    const start = `${this.prefix}r:`;
    return keys
      .flatMap((key) => (key.startsWith(start) ? [key.slice(start.length)] : []))
      .filter((ref) => refPattern.test(ref));
  }
}

/** Returns the ids and heads of the sessions whose ids start with `startsWith`. */
export async function sessionHeads(
  store: KeyValueStore,
  startsWith: string,
): Promise<readonly (readonly [sessionId: string, text: string])[]> {
  // The encoded prefix of an id is a prefix of the key. Half a surrogate pair at its end can't be
  // encoded.
  const keys = (
    await store.keys(`s:${encodeURIComponent(startsWith.replace(/[\ud800-\udbff]$/, ''))}`)
  ).filter((key) => key.endsWith(':head'));
  const heads = await store.getMany(keys);
  return keys.flatMap((key) => {
    const text = heads.get(key);
    const sessionId = decodeURIComponent(key.slice('s:'.length, -':head'.length));
    return text === undefined ? [] : [[sessionId, text] as const];
  });
}

/** Parses a head. Throws `STORAGE_FAILED` if it is damaged or of a newer version of the library. */
export function parseHead(text: string): Head {
  const head = parseVersioned([text], 'head');
  if (!isHead({ ...headDefaults, ...head })) throw damaged('head');
  return { ...headDefaults, ...head, v: formatVersion } as unknown as Head;
}

/**
 * Parses a batch from its values. Throws as `parseHead` does. `parseMessages` checks the messages
 * in it.
 */
export function parseBatch(values: readonly string[]): Batch {
  const batch = parseVersioned(values, 'record');
  const { records, index, replaces, head, prev = '' } = batch;
  const isWhole =
    Array.isArray(records) &&
    records.every(isLogRecord) &&
    typeof prev === 'string' &&
    [index, replaces].every((refs) => refs === undefined || isRefs(refs)) &&
    (head === undefined || isHead({ ...headDefaults, ...(isRecord(head) && head) }));
  if (!isWhole) throw damaged('record');
  return { ...batch, prev, v: formatVersion } as unknown as Batch;
}

/** Fields that a head of format 1 lacks. */
const headDefaults = { hash: '', createdAt: 0, updatedAt: 0 };

function isHead({
  version,
  writer,
  chain,
  refs,
  hash,
  createdAt,
  updatedAt,
  title,
  leader,
}: Readonly<Record<string, unknown>>): boolean {
  return (
    Number.isSafeInteger(version) &&
    [writer, chain, hash, title ?? '', leader ?? ''].every((field) => typeof field === 'string') &&
    [createdAt, updatedAt].every((field) => typeof field === 'number') &&
    Array.isArray(refs) &&
    refs.every(isRefs)
  );
}

function parseVersioned(
  values: readonly string[],
  what: string,
): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(joinValue(values));
  } catch (cause) {
    throw damaged(what, cause);
  }
  if (!isRecord(value) || !Number.isSafeInteger(value['v'])) throw damaged(what);
  if (Number(value['v']) > formatVersion) {
    throw new AgentError(
      'STORAGE_FAILED',
      `The session's ${what} has format ${String(value['v'])}; this version of the library reads ${formatVersion}`,
      { details: { format: Number(value['v']) } },
    );
  }
  return value;
}

function damaged(what: string, cause?: unknown): AgentError {
  return new AgentError('STORAGE_FAILED', `The session's ${what} in the store is damaged`, {
    cause,
  });
}

function isRefs(value: unknown): value is readonly string[] {
  return isStrings(value) && value.every((ref) => refPattern.test(ref));
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** Cloudflare KV limits keys to 512 bytes; the rest, after the id, needs less than 100. */
const maxEncodedId = 400;

function encodeSessionId(sessionId: string): string {
  let encoded = '';
  try {
    encoded = encodeURIComponent(sessionId);
  } catch {
    // The id has a lone surrogate; the error below rejects it.
  }
  if (encoded.length > 0 && encoded.length <= maxEncodedId) return encoded;
  throw new AgentError(
    'INVALID_INPUT',
    `A session id must be well-formed text of 1 to ${maxEncodedId} characters, percent-encoded`,
  );
}
