import type { Context } from 'hono';
import type { AgentSessionClass, EdgeEnv } from './handler-options.ts';
import type { Route, RoutesByPath, SettingsRoute } from './routes.ts';

/** The routes of operators, for the option `operator` of `createAgentHandler`. */
export interface OperatorDesk<Env = object> {
  /** Type marker of the bindings, never set. */
  readonly '~types'?: (env: Env) => void;
  /** Returns the routes, by path and method. `enter` takes the place of `authorize`. */
  readonly routes: (protect: (route: SettingsRoute, enter?: Enter) => Route) => RoutesByPath;
  /** Returns the class of sessions that tell pages about messages of operators. */
  readonly session: (Session: AgentSessionClass) => AgentSessionClass;
}

/** Function that identifies the caller of a request. Returns the caller's key for a rate limit. */
export type Enter = (c: Context<EdgeEnv>) => Promise<string>;
