import type { HandlerSettings } from './handler-options.ts';
import type { SessionObjects } from './session-objects.ts';

/** Conversations in a store, for the option `store` of `createAgentHandler`. */
export interface StoreSessions {
  /** Opens the sessions of an endpoint. Throws `CONFIGURATION` if it also has its own `memory`. */
  readonly open: (settings: HandlerSettings) => BoundSessions;
}

/** Sessions of a store, which take the place of the Durable Objects. */
export interface BoundSessions {
  /** Returns the objects of the sessions. `env`: bindings for new agents. */
  bind(env: object): SessionObjects;
}
