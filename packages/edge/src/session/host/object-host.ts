import { InMemoryMemory } from '@isoloop/core';
import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings, SessionSetup } from '../../handler-options.ts';
import { settleBehind } from '../../http/request-context.ts';
import { makeAgent } from '../../turn/session.ts';
import type { AskSession } from '../session-command.ts';
import type { TurnHost } from './turn-host.ts';

/**
 * Returns a host that forwards turns to the session's Durable Object. The object queues the turns
 * and continues them without clients.
 */
export function objectHost(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  setup: SessionSetup,
  ask: AskSession,
): TurnHost {
  return {
    async answer({ call, turn, format }) {
      // Checks the client's tools before the request reaches the Durable Object, so that a refused
      // turn creates no session.
      if (call && turn.call?.['tools'] != null) {
        const memory = new InMemoryMemory();
        const made = await makeAgent(settings, { ...setup, model: turn.model, memory });
        settleBehind(c, made);
        call.check(made.agent);
      }
      return ask({ type: 'turn', turn, format });
    },
    reconnect: (format, lastEventId) => ask({ type: 'stream', format, lastEventId }),
  };
}
