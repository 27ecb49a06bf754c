import { AgentError, type Msg } from '@isoloop/core';
import type { TurnRequest } from '@isoloop/core/host';

/** Turn that a client asks for, as plain JSON. */
export interface NewTurn {
  readonly request: TurnRequest;
  /** Name of the model that the client asked for. */
  readonly model: string;
  /** Fields of the request with which a host configures the agent call. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Id of the answer for clients. The id stays the same when another run resumes the turn. */
  readonly messageId: string;
  /** Id of the HTTP request that asked for the turn, for the Worker's log. */
  readonly requestId: string;
  /**
   * Idempotency key of the client. A request with the same key gets the answer of this turn again.
   */
  readonly idempotencyKey?: string;
}

/** Progress of a turn. */
export interface TurnState {
  /**
   * Whether the log is ready for the turn: it no longer has the messages that the turn replaces.
   * The turn's input is then in the log, or the next write stores it.
   */
  readonly hasBegun: boolean;
  /** Number of times that the turn was started or resumed so far. */
  readonly attempts: number;
}

/** Turn of a queue. */
export interface QueuedTurn extends NewTurn, TurnState {
  /** Number of the turn. Later turns have larger numbers. */
  readonly id: number;
}

/** Message that was accepted, and whose turn failed before the log had the message. */
export interface FailedMessage {
  readonly message: Msg;
  readonly error: { readonly code: string; readonly message: string };
}

/** Unfinished turns of a session, in order, and messages whose turns have failed. */
export interface TurnQueue {
  readonly size: number;
  /** Number of the turn whose message waits for the results of open tool calls. */
  readonly blockedId: number | undefined;
  /** Adds a turn after all others. `state` is its progress; default: it was never started. */
  add(turn: NewTurn, state?: TurnState): QueuedTurn;
  first(): QueuedTurn | undefined;
  /** Returns the first turn that matches. */
  find(isSought: (turn: QueuedTurn) => boolean): QueuedTurn | undefined;
  /** Returns all unfinished turns, in their order. */
  all(): readonly QueuedTurn[];
  /**
   * Stores that the turn has begun: the messages that the turn replaces are removed from the log.
   */
  begin(id: number): void;
  /** Counts one more start or resumption of the turn. */
  attempt(id: number): void;
  /**
   * Takes a turn out of the queue. `changedAt`: time at which the turn changed the session, in
   * milliseconds since 1970. Default: the turn was refused and changed nothing. A turn that waits
   * for results tries again, because this one may have brought them.
   */
  end(id: number, changedAt?: number): void;
  /** Lets the turn wait for results, as if it had not begun. Turns with results go first. */
  block(id: number): void;
  failedMessages(): readonly FailedMessage[];
  /** Throws if the message is larger than a value of the storage may be. */
  keepFailed(failed: FailedMessage): void;
  /** Returns whether there was such a message. */
  forgetFailed(messageId: string): boolean;
}

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

/**
 * Returns whether the second turn repeats the first one. Compares the idempotency keys. If neither
 * has a key, compares the model, and the id and content of the message.
 */
export function isRepeat(first: NewTurn, second: NewTurn): boolean {
  if (first.idempotencyKey !== undefined || second.idempotencyKey !== undefined)
    return first.idempotencyKey === second.idempotencyKey;
  if (first.request.kind !== 'message' || second.request.kind !== 'message') return false;
  const { message } = first.request;
  const { id, content } = second.request.message;
  return (
    first.model === second.model &&
    message.id === id &&
    JSON.stringify(message.content) === JSON.stringify(content)
  );
}

/**
 * Returns whether the turn has a new message. Such a turn does not run while tool calls of the page
 * are open.
 */
export function bringsMessage({ kind }: TurnRequest): boolean {
  return kind === 'message' || kind === 'messages';
}
