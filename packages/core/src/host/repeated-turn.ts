import type { NewTurn } from './turn-queue.ts';

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
