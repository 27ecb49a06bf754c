import type { NewTurn } from '../queue/turn-queue.ts';
import type { Context } from 'hono';
import type { ApiCall } from '../settings/openai-routes.ts';
import type {
  EdgeEnv,
  HandlerSettings,
  MemorySetup,
  SessionSetup,
} from '../settings/handler-options.ts';
import { answerInRequest } from './answer-in-request.ts';
import { noContent } from './command-handler.ts';
import { askSession } from './commands.ts';
import type { StreamFormat, TurnFormat } from '../turn/turn-format.ts';

/** Turn that a client requests, and how it gets the answer. */
export interface HostRequest {
  readonly turn: NewTurn;
  readonly format: TurnFormat;
  /** Whether a turn that has to wait gets 202 in place of a stream. Default: false. */
  readonly inBackground?: boolean;
  /** Parsed form of `turn.fields`. */
  readonly call?: ApiCall;
  /** Echo of the session state that the client sent. A Durable Object does not need an echo. */
  readonly echoSetup: Pick<MemorySetup, 'echo' | 'withoutEcho'>;
}

/**
 * Runs a turn of a session and returns the answer in the client's format. If a class is bound as
 * `CHAT_SESSION`, sends the turn to the session's Durable Object, which queues it and continues it
 * without clients. Otherwise the request itself runs it: see `answerInRequest`.
 */
export function sendTurn(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  setup: SessionSetup,
  request: HostRequest,
): Promise<Response> {
  const { turn, format, inBackground } = request;
  const command = { type: 'turn', turn, format, ...(inBackground && { inBackground }) } as const;
  const answer = askSession(c, setup.sessionId, command);
  return answer ?? answerInRequest(c, settings, setup, request);
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
