import { AgentError } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import { joinValue } from './split-value.ts';

/** What the log consists of. `cut` takes messages out of the history that were appended before it. */
export type LogRecord = { readonly kind: 'message'; readonly message: Msg } | { readonly kind: 'cut'; readonly ids: readonly string[] };

/** The records of one flush. `index` names earlier batches that the head no longer names (`placeRef`). */
export interface Batch {
  readonly v: typeof formatVersion;
  readonly records: readonly LogRecord[];
  readonly index?: readonly string[];
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
  /** The batches by level, see `placeRef`. */
  readonly refs: readonly (readonly string[])[];
}

export const formatVersion = 1;

/** The name of a batch: it sorts by version, and says in how many values it is stored. */
export function makeRef(version: number, id: string, values: number): string {
  return `${String(version).padStart(8, '0')}-${id}${values > 1 ? `~${values}` : ''}`;
}

const refPattern = /^\d{8}-[\w-]+(?:~(\d+))?$/;

/** Where a session's values are: `s:<id>:head`, and `s:<id>:r:<ref>` with `:1`, `:2` … behind it for further values. */
export class SessionKeys {
  readonly prefix: string;
  readonly head: string;

  constructor(sessionId: string) {
    this.prefix = `s:${encodeSessionId(sessionId)}:`;
    this.head = `${this.prefix}head`;
  }

  batch(ref: string): readonly string[] {
    const first = `${this.prefix}r:${ref}`;
    const values = Number(refPattern.exec(ref)?.[1] ?? 1);
    return Array.from({ length: values }, (_, index) => (index === 0 ? first : `${first}:${index}`));
  }
}

export function parseHead(text: string): Head {
  const head = parseVersioned([text], 'head');
  const { version, writer, chain, refs } = head;
  if (!Number.isSafeInteger(version) || typeof writer !== 'string' || typeof chain !== 'string') throw damaged('head');
  if (!Array.isArray(refs) || !refs.every(isRefs)) throw damaged('head');
  return head as unknown as Head;
}

/** A batch from its values; what the messages in it are worth is for `parseMessages` to say. */
export function parseBatch(values: readonly string[]): Batch {
  const batch = parseVersioned(values, 'record');
  const { records, index } = batch;
  if (!Array.isArray(records) || !(index === undefined || isRefs(index))) throw damaged('record');
  for (const record of records) {
    if (record?.kind === 'cut' ? !isStrings(record.ids) : record?.kind !== 'message') throw damaged('record');
  }
  return batch as unknown as Batch;
}

function parseVersioned(values: readonly string[], what: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(joinValue(values));
  } catch (cause) {
    throw damaged(what, cause);
  }
  if (typeof value !== 'object' || value === null || !('v' in value)) throw damaged(what);
  if (value.v !== formatVersion) {
    throw new AgentError(
      'STORAGE_FAILED',
      `The session's ${what} has format ${String(value.v)}; this version of the library reads ${formatVersion}`,
    );
  }
  return { ...value };
}

function damaged(what: string, cause?: unknown): AgentError {
  return new AgentError('STORAGE_FAILED', `The session's ${what} in the store is damaged`, { cause });
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
  throw new AgentError('INVALID_INPUT', `A session id must be well-formed text of 1 to ${maxEncodedId} characters, percent-encoded`);
}
