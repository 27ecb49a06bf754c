import type { AgentSessionClass, HandlerSettings } from './handler-options.ts';
import type { Route, Routes, SettingsRoute } from './routes.ts';

/** Moves of conversations, for the option `moves` of `createAgentHandler`. */
export interface SessionMoves {
  /** Returns the routes of `/api/chat/:id` that moves need, by method. */
  readonly routes: (protect: (route: SettingsRoute) => Route) => Routes;
  /** Returns the class of sessions that can move. */
  readonly session: (Session: AgentSessionClass, settings: HandlerSettings) => AgentSessionClass;
  /**
   * Reads what has to outlive the deletion of a session. Returns a function that stores it after
   * the deletion.
   */
  readonly keepEndedCalls: (
    storage: DurableObjectStorage,
    sessionId: string,
  ) => Promise<() => void>;
}
