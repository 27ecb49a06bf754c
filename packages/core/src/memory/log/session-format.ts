import { AgentError } from '../../error/agent-error.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import { isRecord } from '../../message/is-record.ts';
import { isLogRecord, type LogRecord } from './log-record.ts';
import { joinValue } from './split-value.ts';

/** The records of one flush. */
export interface Batch {
  readonly v: typeof formatVersion;
  /** The hash of the batch before it; empty for the first one. */
  readonly prev: string;
  readonly records: readonly LogRecord[];
  /** Earlier batches that the head no longer names (`fullLevels`). */
  readonly index?: readonly string[];
  /** In a snapshot: the batches that it stands for. */
  readonly replaces?: readonly string[];
  /**
   * In a log whose client holds an echo: the head that this batch made, without its hash and with
   * the refs before it.
   */
  readonly head?: Omit<Head, 'hash'>;
}

/** The one value of a session that is overwritten. */
export interface Head {
  readonly v: typeof formatVersion;
  /** Flushes so far. */
  readonly version: number;
  /** Who wrote it: one `SessionMemory`. */
  readonly writer: string;
  /** Names the log since it was last empty: another chain is another log. */
  readonly chain: string;
  /** Of the last batch: with each batch's `prev` a chain over all of them. */
  readonly hash: string;
  /** The batches by level, see `fullLevels`. */
  readonly refs: readonly (readonly string[])[];
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly title?: string;
  /** The writer that has claimed the session; others carry it on. */
  readonly leader?: string;
}

/** 1 had messages and cuts only, no hashes and no times. */
export const formatVersion = 2;

/** The name of a batch: it sorts by version, and says in how many values it is stored. */
export function makeRef(version: number, id: string, values: number): string {
  return `${String(version).padStart(8, '0')}-${id}${values > 1 ? `~${values}` : ''}`;
}

export function versionOf(ref: string): number {
  return Number.parseInt(ref, 10);
}

/**
 * The name of a turn's batch: its key is made of the turn's id alone, so that it is found wherever
 * the turn ended up in the log.
 */
export function makeTurnRef(version: number, turnId: string, values: number): string {
  return `${String(version).padStart(8, '0')}.${turnId}${values > 1 ? `~${values}` : ''}`;
}

/** The id of the turn that wrote the batch; nothing where none is known. */
export function turnOf(ref: string): string | undefined {
  return /^\d{8}\.([\w-]+)/.exec(ref)?.[1];
}

const refPattern = /^\d{8}[-.][\w-]+(?:~(\d+))?$/;

/**
 * Where a session's values are: `s:<id>:head`, `s:<id>:r:<ref>` and, of turns, `s:<id>:t:<turn
 * id>`, with `:1`, `:2` … behind it for further values.
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

  /** The batches among these keys. */
  refs(keys: readonly string[]): readonly string[] {
    const start = `${this.prefix}r:`;
    return keys
      .flatMap((key) => (key.startsWith(start) ? [key.slice(start.length)] : []))
      .filter((ref) => refPattern.test(ref));
  }
}

/** The heads of the sessions whose ids begin so, by their ids. */
export async function sessionHeads(
  store: KeyValueStore,
  startsWith: string,
): Promise<readonly (readonly [sessionId: string, text: string])[]> {
  // Encoded, a prefix of the id is a prefix of the key; one that ends in half a surrogate pair is
  // no text.
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

/** Throws `STORAGE_FAILED` for a head that is damaged or of a newer version of the library. */
export function parseHead(text: string): Head {
  const head = parseVersioned([text], 'head');
  if (!isHead({ ...headDefaults, ...head })) throw damaged('head');
  return { ...headDefaults, ...head, v: formatVersion } as unknown as Head;
}

/**
 * A batch from its values. Throws as `parseHead` does; what the messages in it are worth is for
 * `parseMessages` to say.
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

/** What a head of format 1 does not say. */
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

/** Cloudflare's KV takes keys of 512 bytes; what comes behind the id needs less than 100. */
const maxEncodedId = 400;

function encodeSessionId(sessionId: string): string {
  let encoded = '';
  try {
    encoded = encodeURIComponent(sessionId);
  } catch {
    // A lone surrogate: refused below.
  }
  if (encoded.length > 0 && encoded.length <= maxEncodedId) return encoded;
  throw new AgentError(
    'INVALID_INPUT',
    `A session id must be well-formed text of 1 to ${maxEncodedId} characters, percent-encoded`,
  );
}
