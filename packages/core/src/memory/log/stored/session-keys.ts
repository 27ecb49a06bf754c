import { encodeForKey, keyPrefix, valueKeys } from '../../store/storage-keys.ts';

/**
 * Maximum length of a percent-encoded session id. Cloudflare KV limits keys to 512 bytes, and the
 * rest of a key needs less than 100.
 */
const maxEncodedIdLength = 400;

/**
 * The keys of a session's values: `s:<id>:head`, `s:<id>:r:<ref>` and, for turns, `s:<id>:t:<turn
 * id>`. A ref is the name of a batch. The keys of further values end with `:1`, `:2` and so on.
 */
export class SessionKeys {
  readonly prefix: string;
  readonly head: string;
  /** Start of the keys of all batches, without the batches of turns. */
  readonly batches: string;

  constructor(sessionId: string) {
    const id = encodeForKey(sessionId, 'session id', maxEncodedIdLength);
    this.prefix = `${keyPrefix.session}${id}:`;
    this.head = `${this.prefix}head`;
    this.batches = `${this.prefix}r:`;
  }

  /** Returns the keys of a batch's values, the first one first. */
  batch(ref: string): readonly string[] {
    const turnId = turnIdOf(ref);
    const firstKey = turnId === undefined ? `${this.batches}${ref}` : this.turn(turnId);
    return valueKeys(firstKey, Number(ref.split('~')[1] ?? 1));
  }

  /**
   * Returns the key that a batch's checksum includes: the first key, without the suffix that
   * contains the checksum.
   */
  sealKey(ref: string): string {
    return this.batch(ref.split('=')[0]!)[0]!;
  }

  /** Returns the first key of a turn's batch. */
  turn(turnId: string): string {
    return `${this.prefix}t:${turnId}`;
  }
}

/**
 * Returns the name of a batch without its suffix. Names sort by version. With the separator `.`,
 * the batch belongs to the turn `id`. Its key contains only the turn's id, so that readers find the
 * batch without its version.
 */
export function makeRef(version: number, id: string, separator: '-' | '.' = '-'): string {
  return `${String(version).padStart(8, '0')}${separator}${id}`;
}

/** Returns the id of the turn that wrote the batch; `undefined` if the ref has none. */
export function turnIdOf(ref: string): string | undefined {
  return /^\d{8}\.([\w-]+)/.exec(ref)?.[1];
}

/** Returns a random name for writers and batches. */
export function shortId(): string {
  return crypto.randomUUID().slice(0, 18);
}

export function versionOf(ref: string): number {
  return Number.parseInt(ref, 10);
}

/**
 * Length of the checksum in the name of a batch, in characters. Short, because heads contain many
 * names.
 */
const nameSum = 6;

/** Returns the end of a batch's name: a part of the checksum, and the number of stored values. */
export function suffixOf(sum: number, values: number): string {
  const short = (sum % 36 ** nameSum).toString(36).padStart(nameSum, '0');
  return `=${short}${values > 1 ? `~${values}` : ''}`;
}
