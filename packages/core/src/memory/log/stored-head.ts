import { AgentError } from '../../error/agent-error.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import { findBatches, type ReadBatches } from './batch-reader.ts';
import { isSealed, makeMissingRef, versionOf, type SessionKeys } from './session-keys.ts';
import { formatVersion, parseSealed, type Batch } from './stored-batch.ts';

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

/** Parses a head. Throws `STORAGE_FAILED` if the head is damaged or has another format. */
export function parseHead(text: string, key: string): Head {
  const { sum: _sum, ...head } = parseSealed<Head & { readonly sum: number }>(key, [text]);
  return head;
}

/** The writer of a head, and what it knows. */
export interface Writing {
  readonly writer: string;
  readonly title: string | undefined;
  readonly generateId: () => string;
  readonly now: () => number;
}

/** Returns the head after `before`. Its refs are still those of `before`. */
export function nextHead(
  before: Head | undefined,
  { writer, title, generateId, now }: Writing,
): Omit<Head, 'hash'> {
  const at = now();
  return {
    v: formatVersion,
    version: (before?.version ?? 0) + 1,
    writer,
    chain: before?.chain ?? generateId(),
    refs: before?.refs ?? [],
    createdAt: before?.createdAt || at,
    // `updatedAt` must not decrease when the clock moves back.
    updatedAt: Math.max(at, before?.updatedAt ?? 0),
    ...(title !== undefined && { title }),
  };
}

/**
 * Returns the names of earlier batches that the next batch must contain. The head names batches in
 * levels. A head that named every batch would grow with the session. When a level is full, the next
 * batch takes over the names of that level and moves one level up (`takeOver`). That level is then
 * empty. The head stays small, and the head or one other batch names each batch. To find all
 * batches, a reader needs one read per level.
 */
export function fullLevels(
  levels: readonly (readonly string[])[],
  width: number,
): readonly string[] {
  const open = levels.findIndex((names) => names.length < width);
  return levels.slice(0, open === -1 ? levels.length : open).flat();
}

/**
 * Returns the levels after the new batch `ref` has taken over the `taken` batches, as names or as
 * copies of their records. The new batch moves above the levels that it emptied. Works with any
 * width, because writers may use different widths.
 */
export function takeOver(
  levels: readonly (readonly string[])[],
  taken: readonly string[],
  ref: string,
): readonly (readonly string[])[] {
  const gone = new Set(taken);
  const left = levels.map((level) => level.filter((each) => !gone.has(each)));
  const place = levels.findLastIndex((each, level) => each.length > 0 && !left[level]!.length) + 1;
  return [...left.slice(0, place), [...(left[place] ?? []), ref], ...left.slice(place + 1)];
}

export interface HeadReading {
  /** The head in the store. */
  readonly text: string | undefined;
  /** Receives the error of a damaged head that was rebuilt. */
  readonly onDamage?: ((error: AgentError) => void) | undefined;
  /**
   * Collects errors for a repair. A repair also rebuilds a missing head, and works in any store.
   */
  readonly errors?: AgentError[] | undefined;
  /** Names of batches that a rebuilt head leaves out, because the reader will write them again. */
  readonly without?: readonly string[] | undefined;
}

/**
 * Parses the head, which names the batches of a session. Rebuilds a damaged head from the store's
 * key list, if that list is current. Otherwise throws `STORAGE_FAILED`.
 */
export async function readHead(
  store: KeyValueStore,
  keys: SessionKeys,
  { text, onDamage, errors, without }: HeadReading,
): Promise<Head | undefined> {
  if (text === undefined) return errors && findHead(store, keys, errors);
  try {
    return parseHead(text, keys.head);
  } catch (thrown) {
    const error = AgentError.from(thrown);
    const isOtherFormat = error.details?.['format'] !== undefined;
    // A store with `compareAndSet` also has a current key list.
    if (isOtherFormat || !(errors || store.features.compareAndSet)) throw error;
    const head = await rebuildHead(store, keys, { guesses: errors !== undefined, without });
    if (errors) errors.push(error);
    else if (!head) throw error;
    else onDamage?.(error);
    return head;
  }
}

/** Rebuilds a missing head. Returns `undefined` if the session is empty. */
async function findHead(
  store: KeyValueStore,
  keys: SessionKeys,
  errors: AgentError[],
): Promise<Head | undefined> {
  const head = await rebuildHead(store, keys, { guesses: true });
  if (head) {
    const text = `The session's record ${keys.head} is not in the store`;
    errors.push(new AgentError('STORAGE_FAILED', text, { details: { key: keys.head } }));
  }
  return head;
}

/**
 * Returns a head for the batches in the store, or `undefined` if there are none. The head also
 * names batches that are missing before or between the others, so that readers report them. Batches
 * that are missing at the end can't be detected, because they may never have been written. If the
 * last version has several batches, all but one belong to failed writes. The function then returns
 * `undefined`, or with `guesses` a head of all batches.
 */
async function rebuildHead(
  store: KeyValueStore,
  keys: SessionKeys,
  { guesses, without = [] }: { readonly guesses: boolean } & Pick<HeadReading, 'without'>,
): Promise<Head | undefined> {
  const stored = keys.refs(await store.keys(keys.prefix)).toSorted();
  const refs = stored.filter((ref) => !without.includes(ref));
  const last = refs.at(-1);
  if (last === undefined) return undefined;
  const version = versionOf(last);
  const tips = refs.filter((ref) => versionOf(ref) === version);
  if (tips.length > 1 && !guesses) return undefined;
  const batches = new Map<string, Batch>();
  const unread = await findBatches(store, keys, tips, { batches, unread: [] });
  const found = [...batches.keys(), ...unread.map(({ ref }) => ref)];
  const leader = batches.get(last)?.leader;
  return {
    v: formatVersion,
    version,
    writer: '',
    // The same batches always give the same id of the log.
    chain: last,
    hash: last,
    refs: [[...found, ...missingRefs({ batches, unread })].toSorted()],
    createdAt: 0,
    updatedAt: 0,
    ...(leader !== undefined && { leader }),
  };
}

/**
 * Returns the names of missing batches, which leave gaps between the versions of the other batches.
 * If the names in a gap are unknown, one new name represents them all. Batches that are missing at
 * the end can't be detected.
 */
function missingRefs({ batches, unread }: ReadBatches): readonly string[] {
  const refs = [...batches.keys(), ...unread.map(({ ref }) => ref)].toSorted();
  return refs.flatMap((ref, at) => {
    const batch = batches.get(ref);
    const before = refs[at - 1];
    // A snapshot replaces all earlier batches, and an unreadable batch may be a snapshot.
    if (before === undefined && (!batch || batch.replaces)) return [];
    return refsBetween(before === undefined ? 0 : versionOf(before), versionOf(ref), batch);
  });
}

function refsBetween(
  before: number,
  version: number,
  behind: Batch | undefined,
): readonly string[] {
  const missing = version - before - 1;
  if (missing <= 0) return [];
  const prev = behind?.prev ?? '';
  const isNamed = isSealed(prev) && versionOf(prev) === version - 1;
  const named = isNamed ? [prev] : [];
  const last = version - 1 - named.length;
  return last > before ? [makeMissingRef(before + 1, last), ...named] : named;
}
