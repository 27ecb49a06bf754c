import type { AgentInput, AgentStream, CallOptions, Memory } from '@isoloop/core';
import type { Context } from 'hono';
import { entitle } from './chat-turn.ts';
import { logError } from '../http/error-response.ts';
import type { EdgeEnv, HandlerSettings, SessionAgent } from '../handler-options.ts';
import { onDisconnect, settleBehind, waitUntil } from '../http/request-context.ts';
import { leaveMemory } from './session.ts';

export interface KeptTurn {
  readonly stream: AgentStream;
  /** To be called when the client has gone; then the run has some time left. */
  readonly leave: () => void;
}

export interface KeepTurnOptions extends SessionAgent {
  /** The session's, whatever the agent makes of it. */
  readonly memory: Memory;
  /** Gives what to call the agent with, or throws where the turn is refused. */
  readonly begin: () => Promise<AgentInput | undefined>;
  readonly settings: Pick<HandlerSettings, 'limits'>;
  readonly call?: CallOptions | undefined;
}

/**
 * A turn of a session that no object has, in the request that brings it: it ends also without its
 * client. Rejects as `begin`.
 */
export async function keepTurn(
  c: Context<EdgeEnv>,
  { memory, begin, settings, call, ...made }: KeepTurnOptions,
): Promise<KeptTurn> {
  const { agent } = made;
  const input = await begin().catch((error: unknown) => {
    settleBehind(c, made);
    throw error;
  });
  entitle(agent);
  const controller = new AbortController();
  const stream = agent.stream(input, { ...call, detached: true, signal: controller.signal });
  let timer: ReturnType<typeof setTimeout> | null = null;
  let ended = false;
  const requestId = c.get('requestId');
  const done = stream.result
    .catch((error: unknown) => logError(error, requestId))
    .finally(() => {
      ended = true;
      clearTimeout(timer);
    });
  waitUntil(c, done);
  settleBehind(c, made, done);
  const leave = (): void => {
    if (ended) return;
    leaveMemory(memory);
    timer ??= setTimeout(() => controller.abort(), settings.limits.afterDisconnectMs);
  };
  onDisconnect(c, leave);
  return { stream, leave };
}
