import type { AgentStream, CallOptions, Memory } from '@isoloop/core';
import { timerMs } from '@isoloop/core/adapter';
import type { Context } from 'hono';
import { entitle, type TurnInput } from './chat-turn.ts';
import { logError } from '../http/error-response.ts';
import type { EdgeEnv, HandlerSettings, SessionAgent } from '../handler-options.ts';
import { onDisconnect, settleBehind, waitUntil } from '../http/request-context.ts';
import { leaveMemory } from './session.ts';

export interface KeptTurn {
  readonly stream: AgentStream;
  /**
   * Function to call when the client disconnects. The run then continues for
   * `limits.afterDisconnectMs`.
   */
  readonly leave: () => void;
}

export interface KeepTurnOptions extends SessionAgent {
  /** Memory of the session. The agent may use a wrapper of this memory. */
  readonly memory: Memory;
  /** Function that returns the agent's input. Rejects if the turn is refused. */
  readonly begin: () => Promise<TurnInput>;
  readonly settings: Pick<HandlerSettings, 'limits'>;
  readonly call?: CallOptions | undefined;
}

/**
 * Runs a turn within the HTTP request that asks for the turn, for a session without a Durable
 * Object. If the client disconnects, the turn continues for `limits.afterDisconnectMs`. Rejects if
 * `begin` rejects.
 */
export async function keepTurn(
  c: Context<EdgeEnv>,
  { memory, begin, settings, call, ...made }: KeepTurnOptions,
): Promise<KeptTurn> {
  const { agent } = made;
  const { input, decisions } = await begin().catch((error: unknown) => {
    settleBehind(c, made);
    throw error;
  });
  entitle(agent);
  const controller = new AbortController();
  const stream = agent.stream(input, {
    ...call,
    decisions,
    detached: true,
    signal: controller.signal,
  });
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
    timer ??= setTimeout(() => controller.abort(), timerMs(settings.limits.afterDisconnectMs));
  };
  onDisconnect(c, leave);
  return { stream, leave };
}
