import { AgentError } from '../../../error/agent-error.ts';
import { formatVersion, parseSealed } from './stored-batch.ts';

/** Who may write a session. The head of the log has this record. */
export interface Ownership {
  /**
   * Id of a writer in this store, or the name of the place to which the session belongs. Only names
   * of places have a colon.
   */
  readonly owner: string;
  /** Number of times that the owner has changed. Grows in all places together. */
  readonly epoch: number;
  /** Last batch of the log that a move has copied. Only after a copy or a move. */
  readonly copyOf?: string;
}

/** The value that names the batches of a session. The only value that is overwritten. */
export interface Head {
  readonly v: typeof formatVersion;
  /** Number of flushes so far. */
  readonly version: number;
  /** Id of the writer: one `SessionMemory`. */
  readonly writerId: string;
  /** Id of the log. A session that was cleared gets a new log with a new id. */
  readonly logId: string;
  /**
   * Name of the last batch, which contains its checksum. The `prev` of each batch links all batches
   * to a chain.
   */
  readonly last: string;
  /** Names of batches by level. See `fullLevels`. */
  readonly refs: readonly (readonly string[])[];
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly title?: string | undefined;
  /** Who may write. Absent until a writer claims the session. Other writers copy this field. */
  readonly ownership?: Ownership | undefined;
}

/** Parses a head. Throws `STORAGE_FAILED` if the head is damaged or has another format. */
export function parseHead(text: string, key: string): Head {
  const { sum: _sum, ...head } = parseSealed<Head>(key, [text]);
  return head;
}

/** Throws `SESSION_MOVED` if the session belongs to another place, so that this is only a copy. */
export function checkNotMoved(head: Pick<Head, 'ownership'> | undefined): void {
  const movedTo = head?.ownership?.owner;
  if (!movedTo?.includes(':')) return;
  const message = 'The session has moved to another place.';
  throw new AgentError('SESSION_MOVED', message, { details: { movedTo } });
}

/** Returns the error for writes of a run whose session was deleted. */
export function deletedError(): AgentError {
  const message =
    'The session was deleted during the run, by a person, the browser or the store. The run ends. ' +
    'A new message begins a new session.';
  return new AgentError('SESSION_DELETED', message);
}

/** The writer of a head, and what it knows. */
export interface HeadWriter {
  readonly writerId: string;
  readonly title: string | undefined;
  /** Default: the ownership in the head before. */
  readonly ownership?: Ownership | undefined;
  readonly generateId: () => string;
  readonly now: () => number;
}

/** Returns the head after `previousHead`. Its refs are still those of `previousHead`. */
export function nextHead(
  previousHead: Head | undefined,
  { writerId, title, ownership = previousHead?.ownership, generateId, now }: HeadWriter,
): Omit<Head, 'last'> {
  const time = now();
  return {
    v: formatVersion,
    version: (previousHead?.version ?? 0) + 1,
    writerId,
    logId: previousHead?.logId ?? generateId(),
    refs: previousHead?.refs ?? [],
    createdAt: previousHead?.createdAt || time,
    // `updatedAt` must not decrease when the clock moves back.
    updatedAt: Math.max(time, previousHead?.updatedAt ?? 0),
    title,
    ownership,
  };
}

/**
 * Returns the names of earlier batches that the next batch must contain. The head names batches in
 * levels. A head that named every batch would grow with the session. When a level is full, the next
 * batch takes over the names of that level and moves one level up (`addToLevels`). That level is
 * then empty. The head stays small, and the head or one other batch names each batch. To find all
 * batches, a reader needs one read per level.
 */
export function fullLevels(levels: Head['refs'], width: number): readonly string[] {
  const openLevel = levels.findIndex((names) => names.length < width);
  return levels.slice(0, openLevel === -1 ? levels.length : openLevel).flat();
}

/**
 * Returns the levels after the new batch `ref` has taken over the batches `takenRefs`, as names or
 * as copies of their records. The new batch moves above the levels that it emptied. Works with any
 * width, because writers may use different widths.
 */
export function addToLevels(
  levels: readonly (readonly string[])[],
  takenRefs: readonly string[],
  ref: string,
): readonly (readonly string[])[] {
  const takenSet = new Set(takenRefs);
  const rest = levels.map((level) => level.filter((each) => !takenSet.has(each)));
  const levelIndex =
    levels.findLastIndex((refs, index) => refs.length > 0 && !rest[index]!.length) + 1;
  return [
    ...rest.slice(0, levelIndex),
    [...(rest[levelIndex] ?? []), ref],
    ...rest.slice(levelIndex + 1),
  ];
}

/**
 * Adds this writer's own batches to a head that does not name them. Another writer overwrote this
 * writer's head, or the store shows an older head.
 */
export function withLostRefs(head: Head, lostRefs: readonly string[], version: number): Head {
  if (lostRefs.length === 0) return head;
  const [first = [], ...levels] = head.refs;
  const refs = [[...first, ...lostRefs], ...levels];
  return { ...head, version: Math.max(head.version, version), refs };
}
