import { AgentError } from '@isoloop/core';
import type { Context } from 'hono';
import type { EdgeEnv } from '../handler-options.ts';
import type { NewTurn } from '../session/queue/turn-queue.ts';

const keyHeader = 'idempotency-key';

/**
 * Returns the ids of a request: its own, and the one of the header `Idempotency-Key`, which is the
 * same for all retries of one turn. Throws `INVALID_INPUT` if the key is not 1 to 255 visible
 * characters.
 */
export function readIds(c: Context<EdgeEnv>): Pick<NewTurn, 'requestId' | 'idempotencyKey'> {
  const requestId = c.get('requestId');
  const idempotencyKey = c.req.header(keyHeader);
  if (idempotencyKey === undefined) return { requestId };
  if (/^[!-~]{1,255}$/.test(idempotencyKey)) return { requestId, idempotencyKey };
  throw new AgentError(
    'INVALID_INPUT',
    'The header `idempotency-key` must be 1 to 255 visible characters.',
    {
      details: { param: keyHeader },
    },
  );
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
