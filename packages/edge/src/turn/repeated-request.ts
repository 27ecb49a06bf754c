import { AgentError } from '@isoloop/core';
import type { NewTurn } from '../queue/turn-queue.ts';
import type { Context } from 'hono';
import type { EdgeEnv } from '../settings/handler-options.ts';

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
