import { AgentError } from '@isoloop/core';
import type { TurnRequest } from '@isoloop/core/host';
import type { NewTurn } from '../queue/turn-queue.ts';
import type { Context } from 'hono';
import type { ApiCall } from '../settings/openai-part.ts';
import type { EdgeEnv, HandlerSettings, SessionSetup } from '../settings/handler-options.ts';
import type { EchoSetup } from '../answer/echo.ts';
import { answerInRequest } from './answer-in-request.ts';
import { noContent } from './command-handler.ts';
import { askSession } from './commands.ts';
import type { RequestedFormat, StreamFormat } from '../answer/formats.ts';

/** What a client sends for a turn, and how it gets the answer. */
export interface SentTurn {
  readonly request: TurnRequest;
  /** Model name that the client requested. */
  readonly model: string;
  /** Fields of a client of OpenAI. A queued turn stores them. */
  readonly fields?: NewTurn['fields'];
  /** Parsed form of `fields`. */
  readonly call?: ApiCall;
  readonly format: RequestedFormat;
  /** Whether a turn that has to wait gets 202 in place of a stream. Default: false. */
  readonly inBackground?: boolean;
  /** Echo of the session state that the client sent. A Durable Object does not need an echo. */
  readonly echoSetup: EchoSetup;
}

/**
 * Runs a turn of a session and returns the answer in the client's format. If sessions have objects,
 * the object of the session queues the turn and continues it without clients. Otherwise the request
 * itself runs it: see `answerInRequest`. Rejects with `INVALID_INPUT` for an invalid idempotency
 * key.
 */
export async function sendTurn(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  setup: SessionSetup,
  sent: SentTurn,
): Promise<Response> {
  const { request, model, fields, format, inBackground } = sent;
  const messageId = request.kind === 'decisions' ? request.messageId : crypto.randomUUID();
  const turn = { request, model, messageId, ...(fields && { fields }), ...readIds(c) };
  const command = { type: 'turn', turn, format, ...(inBackground && { inBackground }) } as const;
  const answer = askSession(c, setup.sessionId, command);
  return answer ?? answerInRequest(c, settings, setup, { ...sent, turn });
}

/** Returns the running turn to a client that reconnects. Returns 204 if no turn is running. */
export async function rejoinTurn(
  c: Context<EdgeEnv>,
  { sessionId }: SessionSetup,
  format: StreamFormat,
  lastEventId: string | undefined,
): Promise<Response> {
  const answer = askSession(c, sessionId, { type: 'stream', format, lastEventId });
  // A turn outside an object ends with its request.
  return answer ?? noContent();
}

const keyHeader = 'idempotency-key';

/**
 * Returns the ids of a request: its own, and the one of the header `Idempotency-Key`, which is the
 * same for all retries of one turn. Throws `INVALID_INPUT` if the key is not 1 to 255 visible
 * characters.
 */
function readIds(c: Context<EdgeEnv>): Pick<NewTurn, 'requestId' | 'idempotencyKey'> {
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
