import type { Context } from 'hono';
import type { CompletionCall } from '../completions/completion-call.ts';
import type { EdgeEnv, HandlerSettings, MemorySetup } from '../handler-options.ts';
import { kvHost } from './kv-host.ts';
import { objectHost } from './object-host.ts';
import { sessionObject } from './session-command.ts';
import type { StreamFace, TurnFace } from './turn-face.ts';
import type { NewTurn } from './turn-queue.ts';

/** A turn that a client asks for. */
export interface TurnRequest {
  readonly turn: NewTurn;
  readonly face: TurnFace;
  /** The same as `turn.call`, read. */
  readonly call?: CompletionCall;
  /** What the client knows of the session's state. A Durable Object needs none of it. */
  readonly echo: Pick<MemorySetup, 'echo' | 'withoutEcho'>;
}

/** Where the turns of one session run. */
export interface TurnHost {
  /** Runs a turn, and answers as its client reads it. */
  answer(request: TurnRequest): Promise<Response>;
  /** The turn that runs, for a client that comes back; 204 if there is none. */
  reconnect(face: StreamFace, lastEventId: string | undefined): Promise<Response>;
}

/** What hosts need of the handler's settings. */
export type HostSettings = Pick<
  HandlerSettings,
  'agent' | 'jsonSchema' | 'limits' | 'memory' | 'systemMessages'
>;

/** A Durable Object, if one is bound as `CHAT_SESSION`, else the Worker with its KV. */
export function turnHost(c: Context<EdgeEnv>, settings: HostSettings, session: string): TurnHost {
  const user = c.get('user');
  const object = sessionObject(c.env, user, session);
  const identity = { user, session, requestId: c.get('requestId') };
  return object ? objectHost(c, settings, { object, identity }) : kvHost(c, settings, session);
}
