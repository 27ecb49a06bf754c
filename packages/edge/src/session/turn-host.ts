import type { Context } from 'hono';
import type { CompletionCall } from '../completions/completion-call.ts';
import type { EdgeEnv, HandlerSettings, MemorySetup } from '../handler-options.ts';
import { kvHost } from './kv-host.ts';
import { objectHost } from './object-host.ts';
import { sessionObject } from './session-command.ts';
import type { StreamFace, TurnFace } from './turn-face.ts';
import type { NewTurn } from './turn-queue.ts';

/** A client's request for a turn. */
export interface TurnRequest {
  readonly turn: NewTurn;
  readonly face: TurnFace;
  /** The parsed `turn.call`. */
  readonly call?: CompletionCall;
  /** The client's echo of the session's state. A Durable Object does not need it. */
  readonly echo: Pick<MemorySetup, 'echo' | 'withoutEcho'>;
}

/** Where the turns of one session run. */
export interface TurnHost {
  /** Runs a turn, and answers in the client's format. */
  answer(request: TurnRequest): Promise<Response>;
  /** Answers a returning client with the running turn; 204 if there is none. */
  reconnect(face: StreamFace, lastEventId: string | undefined): Promise<Response>;
}

/** The handler settings that hosts need. */
export type HostSettings = Pick<
  HandlerSettings,
  'agent' | 'jsonSchema' | 'limits' | 'memory' | 'systemMessages'
>;

/**
 * Returns the session's host: a Durable Object if one is bound as `CHAT_SESSION`, else the Worker
 * with its KV.
 */
export function turnHost(c: Context<EdgeEnv>, settings: HostSettings, session: string): TurnHost {
  const user = c.get('user');
  const object = sessionObject(c.env, user, session);
  const identity = { user, session, requestId: c.get('requestId') };
  return object ? objectHost(c, settings, { object, identity }) : kvHost(c, settings, session);
}
