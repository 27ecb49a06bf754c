import type { Memory, Msg } from '@isoloop/core';
import { newMessages, type QueuedMessage } from '@isoloop/core/host';
import { toUiMessages } from '@isoloop/core/stream';
import type { FailedMessage, NewTurn, QueuedTurn, TurnQueue } from './turn-queue.ts';

/**
 * Returns the messages that were accepted and are not in the log, in their order. `shownId`: number
 * of the turn whose messages the conversation shows already.
 */
export function listQueued(
  queue: Pick<TurnQueue, 'all' | 'failedMessages'>,
  shownId: number | undefined,
): readonly QueuedMessage[] {
  const turns = queue.all();
  // A failed message that was sent again keeps its entry until the log has it.
  const sentIds = new Set(turns.flatMap(({ request }) => newMessages(request)).map(({ id }) => id));
  const failed = queue.failedMessages().filter(({ message }) => !sentIds.has(message.id));
  return [
    ...failed.flatMap(({ message, error }) => toQueued([message], error)),
    ...turns
      .filter(({ id }) => id !== shownId)
      .flatMap(({ request }) => toQueued(newMessages(request))),
  ];
}

/** Forgets that earlier turns with the messages of this turn have failed. */
export function forgetFailures(
  queue: Pick<TurnQueue, 'forgetFailed'>,
  { request }: Pick<NewTurn, 'request'>,
): void {
  for (const { id } of newMessages(request)) queue.forgetFailed(id);
}

/** A turn that failed, and how. */
export interface FailedTurn {
  readonly turn: QueuedTurn;
  /** Whether the client need not send the messages of the turn again. */
  readonly isAccepted: boolean;
  /** Why the turn failed, in words for the user. */
  readonly error: FailedMessage['error'];
  /** Called with the error if the queue cannot keep a message. */
  readonly onLost: (error: unknown) => void;
}

/**
 * Keeps the messages of a failed turn that the log does not have, if they were accepted or have
 * failed before. Forgets earlier failures of those that the log has.
 */
export async function keepFailures(
  { queue, memory }: { readonly queue: TurnQueue; readonly memory: Memory },
  { turn, isAccepted, error, onLost }: FailedTurn,
): Promise<void> {
  // A person has stopped the turn.
  if (error.code === 'ABORTED') return;
  const failedIds = new Set(queue.failedMessages().map((failed) => failed.message.id));
  const messages = newMessages(turn.request).filter(({ id }) => isAccepted || failedIds.has(id));
  if (!messages.length) return;
  const storedMessages = await memory.read().catch(() => []);
  for (const lost of messages) {
    if (storedMessages.some(({ id }) => id === lost.id)) {
      queue.forgetFailed(lost.id);
      continue;
    }
    try {
      queue.keepFailed({ message: lost, error });
    } catch (failure) {
      onLost(failure);
    }
  }
}

function toQueued(
  messages: readonly Msg[],
  error?: FailedMessage['error'],
): readonly QueuedMessage[] {
  return toUiMessages(messages).map((message) => ({
    id: message.id,
    message,
    ...(error ? { state: 'failed', error } : { state: 'waiting' }),
  }));
}
