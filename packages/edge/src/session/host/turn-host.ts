import type { Context } from 'hono';
import type { CompletionCall } from '../../completions/completion-call.ts';
import type { EdgeEnv, HandlerSettings, MemorySetup, SessionSetup } from '../../handler-options.ts';
import { kvHost } from './kv-host.ts';
import { objectHost } from './object-host.ts';
import { askerOf } from '../session-command.ts';
import type { StreamFormat, TurnFormat } from '../turn-format.ts';
import type { NewTurn } from '../queue/turn-queue.ts';

/** Turn that a client requests, and how it gets the answer. */
export interface AnswerRequest {
  readonly turn: NewTurn;
  readonly format: TurnFormat;
  /** Parsed form of `turn.call`. */
  readonly call?: CompletionCall;
  /** Echo of the session state that the client sent. A Durable Object does not need an echo. */
  readonly echo: Pick<MemorySetup, 'echo' | 'withoutEcho'>;
}

/** Runs the turns of one session. See `kvHost` and `objectHost`. */
export interface TurnHost {
  /** Runs a turn and returns the answer in the client's format. */
  answer(request: AnswerRequest): Promise<Response>;
  /** Returns the running turn to a client that reconnects. Returns 204 if no turn is running. */
  reconnect(format: StreamFormat, lastEventId: string | undefined): Promise<Response>;
}

/**
 * Returns the host of a session. The host is a Durable Object if a class is bound as
 * `CHAT_SESSION`, otherwise the Worker itself.
 */
export function turnHost(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  setup: SessionSetup,
): TurnHost {
  const ask = askerOf(c, setup.sessionId);
  return ask ? objectHost(c, settings, setup, ask) : kvHost(c, settings, setup);
}
