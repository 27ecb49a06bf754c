import type { LogRecord } from '../log/log-record.ts';
import type { Ownership } from '../log/stored/stored-head.ts';

export const copyFormat = 'isoloop-session';
export const copyVersion = 5;

/** A whole session as plain JSON. */
export interface SessionCopy {
  readonly format: typeof copyFormat;
  readonly version: typeof copyVersion;
  readonly sessionId: string;
  /** The shortest list of records that describes the session. */
  readonly records: readonly LogRecord[];
  /** Name of the place that owns the session. Absent in a backup: its new place owns it. */
  readonly ownership?: Ownership | undefined;
  /** Whether a run is active or was cut off, or a person answers in the assistant's place. */
  readonly isRunning?: boolean | undefined;
  /** Proof of the endpoint that made the copy. */
  readonly signature?: string | undefined;
}

/** Change of the owner of a session. Steps 2 and 3 of a move. */
export type OwnerChange = Required<Ownership>;

/**
 * A store of sessions between which a conversation can move. All methods can be repeated. See
 * docs/moving-sessions.md.
 */
export interface SessionPlace {
  /** Unique name with a colon, such as the address of an endpoint's chat route. */
  readonly name: string;
  /** Returns a session, or `undefined` if the place does not have it. */
  read(sessionId: string): Promise<SessionCopy | undefined>;
  /**
   * Stores a copy. Rejects with `SESSION_CONFLICT`, and changes nothing, if the place has the
   * session and the copy is not a later state of it. Does the same if a tool call waits in the
   * copy, but has run here. Rejects with `SESSION_MOVED` if the copy is a backup, and the session
   * belongs to another place.
   */
  put(copy: SessionCopy): Promise<void>;
  /**
   * Writes another owner. Gives the session away if `owner` is another place, and else takes it.
   * Rejects with:
   *
   * - `SESSION_CONFLICT`: the session has changed since it was copied.
   * - `SESSION_STALE`, `NOT_FOUND`: this place has another copy, or none.
   * - `SESSION_MOVED`: the session belongs to a third place.
   * - `AGENT_BUSY`: a person answers in the assistant's place.
   */
  setOwner(sessionId: string, change: OwnerChange): Promise<void>;
  /** Asks the run of the session to end. Default: a run that does not end is cut off. */
  stop?(sessionId: string): Promise<void>;
}
