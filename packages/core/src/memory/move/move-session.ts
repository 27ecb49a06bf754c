import { AgentError } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { func, object, oneOf, optional, withMethod } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import { checkId } from '../../error/options/check-id.ts';
import { sleepFor } from '../../wait/timer.ts';
import { checkNotMoved } from '../log/stored/stored-head.ts';
import type { OwnerChange, SessionCopy, SessionPlace } from './session-place.ts';

const runningText =
  'The session is running, or messages wait in it. Wait for its end, stop it, or withdraw them.';

/** From where and to where `moveSession()` moves a session, and what it does with a run. */
export interface MoveOptions {
  readonly from: SessionPlace;
  readonly to: SessionPlace;
  /**
   * What to do with a session whose answer is not complete: `wait` for its end, `stop` it, or
   * `refuse` to move with `AGENT_BUSY`. `stop` cuts off a run that does not end within 10 seconds.
   * A Durable Object refuses with `AGENT_BUSY` instead. While a person answers in the assistant's
   * place, `wait` waits until this person has left, and `stop` is refused, too. Default:
   * `refuse`.
   */
  readonly whenRunning?: 'wait' | 'stop' | 'refuse';
  /** Ends the wait for a running session. The move itself is not aborted. */
  readonly signal?: AbortSignal;
  /** Waits for a time in milliseconds. Default: uses `setTimeout`. */
  readonly sleep?: (ms: number) => Promise<void>;
}

const pollMs = 250;
const maxStopMs = 10_000;

/**
 * Moves a session to another place, where it continues with the same id. Also completes a move that
 * was cut off. Does nothing if the session is there already. After an error, one of both places
 * owns the session: call this function again. Rejects with:
 *
 * - `NOT_FOUND`: the old place has no such session.
 * - `AGENT_BUSY`: the session is running, and `whenRunning` is `refuse`; or a person answers in it.
 * - `SESSION_MOVED`: the session belongs to a third place.
 * - `SESSION_CONFLICT`: both places have continued the session, or it changed during the move.
 */
export async function moveSession(sessionId: string, options: MoveOptions): Promise<void> {
  const { from, to } = options;
  checkOptions('moveSession()', options, moveOptions, 'INVALID_INPUT');
  checkId(sessionId, 'session id');
  const copy = await readIdleSession(sessionId, options);
  const { owner, epoch, copyOf } = copy.ownership;
  if (owner === to.name) return takeOwnership(copy, copy.ownership, options);
  if (owner !== from.name) checkNotMoved(copy);
  const change = { owner: to.name, epoch: epoch + 1, copyOf };
  await to.put(copy);
  await from.setOwner(sessionId, change);
  await takeOwnership(copy, change, options);
}

const moveOptions: OptionTable<MoveOptions> = {
  from: withMethod('setOwner'),
  to: withMethod('setOwner'),
  whenRunning: optional(oneOf('wait', 'stop', 'refuse')),
  signal: optional(object),
  sleep: optional(func),
};

type OwnedCopy = SessionCopy & { readonly ownership: OwnerChange };

/** Takes the session that was given to the new place. */
async function takeOwnership(
  copy: OwnedCopy,
  change: OwnerChange,
  options: MoveOptions,
): Promise<void> {
  const { from, to } = options;
  const { sessionId } = copy;
  try {
    await to.setOwner(sessionId, change);
  } catch (error) {
    const isOtherCopy = AgentError.is(error) && ['NOT_FOUND', 'SESSION_STALE'].includes(error.code);
    if (!isOtherCopy) throw error;
    const ownership = { ...change, owner: from.name, epoch: change.epoch - 1 };
    await to.put({ ...copy, ownership });
    await to.setOwner(sessionId, change);
  }
}

/** Returns the session when no run is active. */
async function readIdleSession(
  sessionId: string,
  { from, whenRunning = 'refuse', signal, sleep = sleepFor }: MoveOptions,
): Promise<OwnedCopy> {
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const copy = await from.read(sessionId);
    if (!copy?.ownership)
      throw new AgentError('NOT_FOUND', `There is no session "${sessionId}" to move.`);
    const isElsewhere = copy.ownership.owner !== from.name;
    const isCutOff = whenRunning === 'stop' && waitedMs >= maxStopMs;
    if (!copy.isRunning || isElsewhere || isCutOff) return copy as OwnedCopy;
    if (whenRunning === 'refuse')
      throw new AgentError('AGENT_BUSY', runningText, { retryable: true });
    if (waitedMs === 0 && whenRunning === 'stop') await from.stop?.(sessionId);
    signal?.throwIfAborted();
    await sleep(pollMs);
  }
}
