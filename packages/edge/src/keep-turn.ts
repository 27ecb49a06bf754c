import type { AgentInput, AgentStream, CallOptions, Memory } from '@isoloop/core';
import type { Context } from 'hono';
import { entitle } from './chat-turn.ts';
import { logError } from './error-response.ts';
import type { EdgeEnv, HandlerSettings, SessionAgent } from './handler-options.ts';
import { onDisconnect, waitUntil } from './request-context.ts';
import { leaveMemory } from './session.ts';

export interface KeptTurn {
  readonly stream: AgentStream;
  /** To be called when the client has gone; then the run has some time left. */
  readonly leave: () => void;
}

export interface KeepTurnOptions extends SessionAgent {
  /** The session's, whatever the agent makes of it. */
  readonly memory: Memory;
  readonly input: AgentInput | undefined;
  readonly settings: HandlerSettings;
  readonly call?: CallOptions | undefined;
}

/** A turn of a session that no object has, in the request that brings it: it ends also without its client. The log was read before. */
export function keepTurn(c: Context<EdgeEnv>, { agent, settled, memory, input, settings, call }: KeepTurnOptions): KeptTurn {
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
  waitUntil(c, settled ? done.then(settled) : done);
  const leave = (): void => {
    if (ended) return;
    leaveMemory(memory);
    timer ??= setTimeout(() => controller.abort(), settings.limits.afterDisconnectMs);
  };
  onDisconnect(c, leave);
  return { stream, leave };
}
