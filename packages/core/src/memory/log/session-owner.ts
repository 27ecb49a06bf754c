import { AgentError } from '../../error/agent-error.ts';

/** Who may write a session. The head of the log has this record. */
export interface SessionOwner {
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

/** Throws `SESSION_MOVED` if the session belongs to another place, so that this is only a copy. */
export function checkHere(head: { readonly owner?: SessionOwner | undefined } | undefined): void {
  const movedTo = head?.owner?.owner;
  if (!movedTo?.includes(':')) return;
  const message = 'The session has moved to another place.';
  throw new AgentError('SESSION_MOVED', message, { details: { movedTo } });
}
