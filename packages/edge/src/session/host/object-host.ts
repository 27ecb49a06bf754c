import { InMemoryMemory } from '@isoloop/core';
import type { Context } from 'hono';
import type { EdgeEnv } from '../../handler-options.ts';
import { settleBehind } from '../../http/request-context.ts';
import { makeAgent } from '../../turn/session.ts';
import type { AskSession } from '../session-command.ts';
import type { HostSettings, TurnHost, TurnRequest } from './turn-host.ts';

export interface ObjectHostOptions {
  readonly ask: AskSession;
  readonly sessionId: string;
}

/**
 * Returns a host that forwards turns to the session's Durable Object. The object queues the turns
 * and continues them without clients.
 */
export function objectHost(
  c: Context<EdgeEnv>,
  settings: Pick<HostSettings, 'agent'>,
  { ask, sessionId }: ObjectHostOptions,
): TurnHost {
  /**
   * Checks the client's tools before the request reaches the Durable Object, so that a refused turn
   * creates no session.
   */
  const check = async ({ call, turn }: TurnRequest): Promise<void> => {
    if (turn.call?.['tools'] == null) return;
    const made = await makeAgent(settings, {
      env: c.env,
      user: c.get('caller').user,
      sessionId,
      model: turn.model,
      memory: new InMemoryMemory(),
    });
    settleBehind(c, made);
    call?.check(made.agent);
  };
  return {
    async answer(request) {
      await check(request);
      const { turn, face } = request;
      return ask({ type: 'turn', turn, face });
    },
    reconnect: (face, lastEventId) => ask({ type: 'stream', face, lastEventId }),
  };
}
