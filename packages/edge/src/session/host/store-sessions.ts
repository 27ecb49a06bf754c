import { AgentError, type KeyValueStore } from '@isoloop/core';
import { checkFields } from '@isoloop/core/adapter';
import type { HandlerSettings } from '../../handler-options.ts';
import { ProcessSessions } from './process-sessions.ts';

/** Conversations in a store, for the option `store` of `createAgentHandler`. */
export interface StoreSessions {
  /** Opens the sessions of an endpoint. Throws `CONFIGURATION` if it also has its own `memory`. */
  readonly open: (settings: HandlerSettings) => Pick<ProcessSessions, 'bind'>;
}

/**
 * Keeps conversations in any `KeyValueStore`, such as `unstorageStore(driver)`, in Node, Bun, Deno
 * and Next.js. The sessions run in this process like in Durable Objects: turns wait for each other,
 * continue without clients and can be interrupted. Only one process may use a conversation at a
 * time. Throws `CONFIGURATION` if `store` is not a store.
 *
 * @example
 * createAgentHandler({ agent, authorize, store: storeSessions(new MemoryStore()) });
 */
export function storeSessions(store: KeyValueStore): StoreSessions {
  checkFields('storeSessions(): the store', store, 'setMany:function', 'CONFIGURATION');
  return {
    open: (settings) => {
      if (settings.memory) {
        const message = 'createAgentHandler(): give either store or memory.';
        throw new AgentError('CONFIGURATION', message);
      }
      return new ProcessSessions(settings, store);
    },
  };
}
