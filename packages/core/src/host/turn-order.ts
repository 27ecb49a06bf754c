import { AgentError } from '../error/agent-error.ts';
import type { NewTurn, QueuedTurn, TurnQueue, TurnState } from './turn-queue.ts';

/**
 * Returns the turn that runs next. If the first turn waits for results of tools, the first turn
 * that may bring them goes before it.
 */
export function nextTurn(
  queue: Pick<TurnQueue, 'first' | 'find' | 'blockedId'>,
): QueuedTurn | undefined {
  const firstTurn = queue.first();
  if (!firstTurn || firstTurn.id !== queue.blockedId) return firstTurn;
  return queue.find(({ request }) => !bringsMessage(request));
}

/** Returns whether a new turn waits although no turn runs. */
export function mustWait(
  queue: Pick<TurnQueue, 'first' | 'find' | 'blockedId' | 'size'>,
  { request }: NewTurn,
): boolean {
  return nextTurn(queue) !== undefined || (bringsMessage(request) && queue.size > 0);
}

/** Throws `OVERLOADED` if a running turn and `maxWaiting` others are in the queue. */
export function checkQueueSize({ size }: Pick<TurnQueue, 'size'>, maxWaiting: number): void {
  if (size > maxWaiting)
    throw new AgentError('OVERLOADED', 'Too many turns of the session wait; try again later.', {
      retryable: true,
      details: { retryAfterMs: 10_000 },
    });
}

/**
 * Returns whether the turn has a new message. Such a turn does not run while tool calls of the page
 * are open.
 */
export function bringsMessage({ kind }: NewTurn['request']): boolean {
  return kind === 'message' || kind === 'messages';
}

/**
 * Returns whether one more attempt at a turn only stores the input, after its isolate died in all
 * earlier ones. A turn that has begun gets this additional attempt. Throws if there is no attempt
 * left.
 */
export function storesInputOnly(
  { hasBegun, attempts }: TurnState,
  resumeAttempts: number,
): boolean {
  const startAttempts = Math.max(1, resumeAttempts);
  const maxAttempts = hasBegun ? startAttempts + 1 : startAttempts;
  if (attempts > maxAttempts) {
    const end = hasBegun ? 'end' : 'begin';
    throw new AgentError(
      'INTERNAL',
      `The isolate died ${attempts} times before the turn could ${end}.`,
    );
  }
  return hasBegun && attempts > resumeAttempts;
}
