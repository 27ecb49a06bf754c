import type { Context } from 'hono';
import type { CompletionCall } from '../../completions/completion-call.ts';
import type { EdgeEnv, HandlerSettings, MemorySetup, SessionSetup } from '../../handler-options.ts';
import { kvHost } from './kv-host.ts';
import { askerOf } from '../session-command.ts';
import type { StreamFormat, TurnFormat } from '../turn-format.ts';
import type { NewTurn } from '../queue/turn-queue.ts';

/** Turn that a client requests, and how it gets the answer. */
export interface HostRequest {
  readonly turn: NewTurn;
  readonly format: TurnFormat;
  /** Whether a turn that has to wait gets 202 in place of a stream. Default: false. */
  readonly inBackground?: boolean;
  /** Parsed form of `turn.fields`. */
  readonly call?: CompletionCall;
  /** Echo of the session state that the client sent. A Durable Object does not need an echo. */
  readonly echoSetup: Pick<MemorySetup, 'echo' | 'withoutEcho'>;
}

/** Runs the turns of one session. */
export interface TurnHost {
  /** Runs a turn and returns the answer in the client's format. */
  answer(request: HostRequest): Promise<Response>;
  /** Returns the running turn to a client that reconnects. Returns 204 if no turn is running. */
  reconnect(format: StreamFormat, lastEventId: string | undefined): Promise<Response>;
}

/**
 * Returns the host of a session. If a class is bound as `CHAT_SESSION`, the host forwards turns to
 * the session's Durable Object, which queues them and continues them without clients. Otherwise the
 * Worker itself runs them: see `kvHost`.
 */
export function turnHost(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  setup: SessionSetup,
): TurnHost {
  const ask = askerOf(c, setup.sessionId);
  if (!ask) return kvHost(c, settings, setup);
  return {
    answer: ({ turn, format, inBackground }) =>
      ask({ type: 'turn', turn, format, ...(inBackground && { inBackground }) }),
    reconnect: (format, lastEventId) => ask({ type: 'stream', format, lastEventId }),
  };
}
