import { AgentError } from '../../../error/agent-error.ts';
import { isObjectOrArray } from '../../../message/json.ts';
import { joinValue } from '../../store/split-value.ts';
import type { Flushes, LogRecord } from '../log-record.ts';
import { checkSeal } from './seal.ts';
import { suffixOf, type SessionKeys } from './session-keys.ts';
import type { Head, Ownership } from './stored-head.ts';

/** The records of one flush (one write), as they are stored. */
export interface Batch {
  readonly v: typeof formatVersion;
  /** Name of the previous batch. Empty in the first batch. */
  readonly prev: string;
  readonly records: readonly LogRecord[];
  /** Names of earlier batches, which the head no longer contains. See `fullLevels`. */
  readonly index?: readonly string[];
  /** In a snapshot: the names of the batches that the snapshot replaces. */
  readonly replaces?: readonly string[] | undefined;
  /**
   * The head after this batch, without `last` and with the refs of the previous head. Only in a
   * log with echoes (signed session tokens of clients).
   */
  readonly head?: Omit<Head, 'last'>;
  /** Ownership of the session, for a head that has to be rebuilt. See `Head`. */
  readonly ownership?: Ownership | undefined;
}

/** A batch of a log that could not be read, with the reason. */
export interface UnreadBatch {
  readonly ref: string;
  /**
   * Retryable if the batch is not in the store. Otherwise the batch is damaged or has another
   * format.
   */
  readonly error: AgentError;
}

/** The batches of a log that could be read, and the others. */
export interface ReadBatches {
  readonly batches: ReadonlyMap<string, Batch>;
  readonly unread: readonly UnreadBatch[];
}

/**
 * Version of the stored format. Other formats are refused. Another format must keep the checksum as
 * its last field, or have no checksum.
 */
export const formatVersion = 10;

/** Parses a named batch from its values. Throws the errors of `parseSealed`. */
export function parseBatch(keys: SessionKeys, ref: string, values: readonly string[]): Batch {
  const [key = ''] = keys.batch(ref);
  const batch = parseSealed<Batch>(keys.sealKey(ref), values, key);
  if (!ref.endsWith(suffixOf(batch.sum, values.length))) throw damageError(key);
  return batch;
}

/**
 * Parses the values of a sealed object whose checksum includes `sealKey`. A correct checksum proves
 * that this library wrote the object, so its fields are not checked. Throws `STORAGE_FAILED` if the
 * values are damaged or have another format. `key`: the key in the error. `sum`: the checksum.
 */
export function parseSealed<T extends object>(
  sealKey: string,
  values: readonly string[],
  key: string = sealKey,
): T & { readonly sum: number } {
  let value: unknown;
  let isSealed: boolean;
  try {
    const text = joinValue(values);
    isSealed = checkSeal(text, sealKey);
    value = JSON.parse(text);
  } catch (cause) {
    throw damageError(key, cause);
  }
  const format = isObjectOrArray(value) ? value['v'] : undefined;
  if (Number.isSafeInteger(format) && format !== formatVersion) throw otherFormatError(key, format);
  if (!isSealed) throw damageError(key);
  return value as T & { readonly sum: number };
}

function otherFormatError(key: string, format: unknown): AgentError {
  const ours = `this version of the library reads ${formatVersion}`;
  const message = `The session's record ${key} has format ${String(format)}; ${ours}`;
  return new AgentError('STORAGE_FAILED', message, { details: { key, format: Number(format) } });
}

/** Returns a `STORAGE_FAILED` error for a value that is damaged. `key`: its key in the store. */
export function damageError(key: string, cause?: unknown): AgentError {
  const what = `The session's record ${key} in the store is damaged`;
  const message = `${what}; repairSession() continues with the rest`;
  return new AgentError('STORAGE_FAILED', message, { cause, details: { key } });
}

/** Returns whether an error reports a value of another format. */
export function isOtherFormat({ details }: AgentError): boolean {
  return details?.['format'] !== undefined;
}

/** Returns whether an error reports a value in the store, not a failure of the store. */
export function isDamage(error: unknown): error is AgentError {
  return AgentError.is(error) && error.details?.['key'] !== undefined;
}

/**
 * Returns the records in the order in which they were written. Marks the places of lost batches.
 */
export function flushesOf({ batches, unread }: ReadBatches): Flushes {
  const lostRefs = unread.map(({ ref }) => ref);
  return inOrder(batches, lostRefs).map((ref) => batches.get(ref)?.records ?? [{ kind: 'lost' }]);
}

/**
 * Returns the refs in the order in which the batches were written, without batches that a snapshot
 * replaced.
 */
export function inOrder(
  batches: ReadonlyMap<string, Batch>,
  lostRefs: readonly string[] = [],
): readonly string[] {
  const replaced = replacedBy(batches);
  return [...batches.keys(), ...lostRefs].filter((ref) => !replaced.has(ref)).toSorted();
}

/** Returns the refs of all batches that snapshots replaced. */
export function replacedBy(batches: ReadonlyMap<string, Batch>): ReadonlySet<string> {
  return new Set([...batches.values()].flatMap(({ replaces }) => replaces ?? []));
}
