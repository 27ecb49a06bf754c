import { AgentError } from '../../../error/agent-error.ts';
import type { KeyValueStore } from '../../key-value-store.ts';
import { isRecord } from '../../../message/json/is-record.ts';
import { parseMessages } from '../../../message/validation/validate-message.ts';
import { isLogRecord, messagesIn, type LogRecord } from './log-record.ts';
import { checkSeal } from './seal.ts';
import { joinValue } from './split-value.ts';

/** The records of one flush (one write), as they are stored. */
export interface Batch {
  readonly v: typeof formatVersion;
  /** The `hash` of the previous head. Empty in the first batch. */
  readonly prev: string;
  readonly records: readonly LogRecord[];
  /** Names of earlier batches, which the head no longer contains. See `fullLevels`. */
  readonly index?: readonly string[];
  /** In a snapshot: the names of the batches that the snapshot replaces. */
  readonly replaces?: readonly string[];
  /**
   * The head after this batch, without its hash and with the refs of the previous head. Only in a
   * log with echoes (signed session tokens of clients).
   */
  readonly head?: Omit<Head, 'hash'>;
  /** Id of the writer that led the session. See `Head`. */
  readonly leader?: string;
}

/** A batch from the store. */
export interface StoredBatch extends Batch {
  /** Checksum of the text before this field. */
  readonly sum: number;
}

/** The value that names the batches of a session. The only value that is overwritten. */
export interface Head {
  readonly v: typeof formatVersion;
  /** Number of flushes so far. */
  readonly version: number;
  /** Id of the writer: one `SessionMemory`. */
  readonly writer: string;
  /** Id of the log. A session that was cleared gets a new log with a new id. */
  readonly chain: string;
  /**
   * Name of the last batch, which contains its checksum. The `prev` of each batch links all batches
   * to a chain. In logs with echoes: the SHA-256 of the last batch's text.
   */
  readonly hash: string;
  /** Names of batches by level. See `fullLevels`. */
  readonly refs: readonly (readonly string[])[];
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly title?: string;
  /** Id of the writer that has claimed the session. Writers without a claim copy this field. */
  readonly leader?: string;
}

/**
 * Version of the stored format. Other formats are refused. Another format must keep the checksum as
 * its last field, or have no checksum.
 */
export const formatVersion = 4;

/** Returns the name of a batch without its suffix. Names sort by version. */
export function makeRef(version: number, id: string): string {
  return `${String(version).padStart(8, '0')}-${id}`;
}

/** Returns one name for all missing batches from version `first` to version `last`. */
export function makeMissingRef(first: number, last: number): string {
  return makeRef(first, `to-${makeRef(last, 'gone')}`);
}

/**
 * Length of the checksum in the name of a batch, in characters. Short, because heads contain many
 * names.
 */
const nameSum = 6;

/** Returns the end of a batch's name: a part of the checksum, and the number of stored values. */
export function suffixOf(sum: number, values: number): string {
  return `=${shortSum(sum)}${values > 1 ? `~${values}` : ''}`;
}

function shortSum(sum: number): string {
  return (sum % 36 ** nameSum).toString(36).padStart(nameSum, '0');
}

export function versionOf(ref: string): number {
  return Number.parseInt(ref, 10);
}

/**
 * Returns the name of a turn's batch. The key of the batch contains only the turn's id, so that
 * readers find the batch without its version.
 */
export function makeTurnRef(version: number, turnId: string): string {
  return `${String(version).padStart(8, '0')}.${turnId}`;
}

/** Returns whether a text is the name of a batch with its checksum. Hashes of turns have none. */
export function isSealed(ref: string): boolean {
  return ref.includes('=');
}

/** Returns the id of the turn that wrote the batch; `undefined` if the ref has none. */
export function turnOf(ref: string): string | undefined {
  return ref.includes('.') ? /^\d{8}\.([\w-]+)/.exec(ref)?.[1] : undefined;
}

const refPattern = /^\d{8}[-.][\w-]+(?:=\w+)?(?:~\d+)?$/;

/**
 * The keys of a session's values: `s:<id>:head`, `s:<id>:r:<ref>` and, for turns, `s:<id>:t:<turn
 * id>`. The keys of further values end with `:1`, `:2` and so on.
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
    const first = turnId === undefined ? `${this.prefix}r:${ref}` : this.turn(turnId);
    const values = Number(ref.split('~')[1] ?? 1);
    if (values === 1) return [first];
    return Array.from({ length: values }, (_, index) =>
      index === 0 ? first : `${first}:${index}`,
    );
  }

  /**
   * Returns the place that a batch's checksum includes: the first key, without the suffix that
   * contains the checksum.
   */
  place(ref: string): string {
    const turnId = turnOf(ref);
    return turnId === undefined ? `${this.prefix}r:${ref.split('=')[0]!}` : this.turn(turnId);
  }

  /** Returns the first key of a turn's batch. */
  turn(turnId: string): string {
    return `${this.prefix}t:${turnId}`;
  }

  /** Returns the refs of the batches among these keys, without the batches of turns. */
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
): Promise<readonly (readonly [sessionId: string, text: string, key: string])[]> {
  // The encoded prefix of an id is a prefix of the key. `encodeURIComponent` can't encode half a
  // surrogate pair at the end.
  const keys = (
    await store.keys(`s:${encodeURIComponent(startsWith.replace(/[\ud800-\udbff]$/, ''))}`)
  ).filter((key) => key.endsWith(':head'));
  const heads = await store.getMany(keys);
  return keys.flatMap((key) => {
    const text = heads.get(key);
    const sessionId = decodeURIComponent(key.slice('s:'.length, -':head'.length));
    return text === undefined ? [] : [[sessionId, text, key] as const];
  });
}

/** Parses a head. Throws `STORAGE_FAILED` if the head is damaged or has another format. */
export function parseHead(text: string, key: string): Head {
  const { sum: _sum, ...head } = parseVersioned(key, [text], () => key);
  if (!isHead(head)) throw damaged(key);
  return head as unknown as Head;
}

/**
 * Parses a named batch from its values and checks its messages. Throws the same errors as
 * `parseHead`.
 */
export function parseBatch(keys: SessionKeys, ref: string, values: readonly string[]): StoredBatch {
  const keyOf = (): string => keys.batch(ref)[0] ?? '';
  const batch = parseRecord(keys.place(ref), values, keyOf);
  if (!ref.includes(`=${shortSum(batch.sum)}`)) throw damaged(keyOf());
  return batch;
}

/** Parses the batch of a turn, whose name is not known. Throws the same errors as `parseHead`. */
export function parseTurn(
  keys: SessionKeys,
  turnId: string,
  values: readonly string[],
): StoredBatch {
  const key = keys.turn(turnId);
  return parseRecord(key, values);
}

/** `keyOf`: returns the key for errors. Default: the place. */
function parseRecord(
  place: string,
  values: readonly string[],
  keyOf: () => string = () => place,
): StoredBatch {
  const batch = parseVersioned(place, values, keyOf);
  const { records, index, replaces, head, prev } = batch;
  const isWhole =
    Array.isArray(records) &&
    records.every(isLogRecord) &&
    typeof prev === 'string' &&
    [index, replaces].every((refs) => refs === undefined || isRefs(refs)) &&
    (head === undefined || isHead({ hash: '', ...(isRecord(head) && head) }));
  if (!isWhole) throw damaged(keyOf());
  try {
    parseMessages(messagesIn(records));
  } catch (cause) {
    throw damaged(keyOf(), cause);
  }
  return batch as unknown as StoredBatch;
}

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
  place: string,
  values: readonly string[],
  keyOf: () => string,
): Readonly<Record<string, unknown>> {
  let value: unknown;
  let hasSeal: boolean;
  try {
    const text = joinValue(values);
    hasSeal = checkSeal(text, place);
    value = JSON.parse(text);
  } catch (cause) {
    throw damaged(keyOf(), cause);
  }
  if (!isRecord(value) || !Number.isSafeInteger(value['v'])) throw damaged(keyOf());
  const format = Number(value['v']);
  if (format !== formatVersion) {
    const key = keyOf();
    throw new AgentError(
      'STORAGE_FAILED',
      `The session's record ${key} has format ${format}; this version of the library reads ${formatVersion}`,
      { details: { key, format } },
    );
  }
  if (!hasSeal) throw damaged(keyOf());
  return value;
}

/** Returns the error for a damaged value. */
export function damaged(key: string, cause?: unknown): AgentError {
  return new AgentError(
    'STORAGE_FAILED',
    `The session's record ${key} in the store is damaged; repair() continues with the rest`,
    { cause, details: { key } },
  );
}

/** Returns whether an error reports a value in the store, not a failure of the store. */
export function isDamage(error: unknown): error is AgentError {
  return AgentError.is(error) && error.details?.['key'] !== undefined;
}

function isRefs(value: unknown): value is readonly string[] {
  return isStrings(value) && value.every((ref) => refPattern.test(ref));
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/**
 * Maximum length of a percent-encoded session id. Cloudflare KV limits keys to 512 bytes, and the
 * rest of a key needs less than 100.
 */
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
