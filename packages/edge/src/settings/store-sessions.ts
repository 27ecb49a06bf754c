import type { HandlerSettings } from './handler-options.ts';
import type { SessionNamespace } from './session-objects.ts';

/** Conversations in a store, for the option `store` of `createAgentHandler`. */
export interface StoreSessions {
  /** Opens the sessions of an endpoint. Throws `CONFIGURATION` if it also has its own `memory`. */
  readonly open: (settings: HandlerSettings) => BoundSessions;
}

/** Sessions that stand in for the binding `CHAT_SESSION`. */
export interface BoundSessions {
  /** Returns the sessions in the form of `CHAT_SESSION`. `env`: bindings for new agents. */
  bind(env: object): SessionNamespace;
}
