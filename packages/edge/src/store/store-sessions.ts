import { AgentError, type KeyValueStore } from '@isoloop/core';
import {
  checkFields,
  checkOptions,
  string,
  optional,
  func,
  type OptionTable,
} from '@isoloop/core/options';
import { sharedHosts } from './shared-hosts.ts';
import { ProcessHosts } from './process-hosts.ts';
import type { SessionHomes } from '../settings/session-home.ts';

/** Which handlers of a process share their sessions. */
export interface StoreSessionsOptions {
  /**
   * Name of the conversations in this process. Handlers with the same name share the queue of each
   * conversation, in the store of the first of them. The newest handler's options apply to turns
   * that begin later. Set it if a bundler may evaluate your module twice, as in Next.js. Default:
   * each handler has queues of its own. An empty name throws `CONFIGURATION`.
   */
  readonly name?: string;
}

/**
 * Keeps conversations in any `KeyValueStore`, such as `unstorageStore(driver)`, in Node, Bun, Deno
 * and Next.js. The sessions run in this process like in Durable Objects: turns wait for each other,
 * continue without clients and can be interrupted. Only one process may use a conversation at a
 * time. Throws `CONFIGURATION` if `store` is not a store, or an option is wrong.
 *
 * @example
 * createAgentHandler({ agent, authorize, store: storeSessions(new MemoryStore()) });
 */
export function storeSessions(
  store: KeyValueStore,
  options: StoreSessionsOptions = {},
): SessionHomes {
  checkOptions('storeSessions()', options, storeSessionsOptions);
  const { name } = options;
  if (name === '')
    throw new AgentError(
      'CONFIGURATION',
      'storeSessions(): `name` must be text that is not empty.',
    );
  checkFields('storeSessions(): the store', store, { setMany: func }, 'CONFIGURATION');
  return {
    open: (settings) => {
      if (settings.memory) {
        const message = 'createAgentHandler(): give either store or memory.';
        throw new AgentError('CONFIGURATION', message);
      }
      const hosts =
        name === undefined ? new ProcessHosts(settings, store) : sharedHosts(name, settings, store);
      return (env) => ({ kind: 'store', objects: hosts.bind(env) });
    },
  };
}

const storeSessionsOptions: OptionTable<StoreSessionsOptions> = { name: optional(string) };
