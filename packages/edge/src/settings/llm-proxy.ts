import type { Route, RoutesByPath, SettingsRoute } from './routes.ts';

/** The model proxy of an endpoint, for the option `llm` of `createAgentHandler`. */
export interface LlmProxy<Env = object> {
  /** Type marker of the bindings, never set. */
  readonly '~types'?: (env: Env) => void;
  /** Returns the proxy's routes, by path and method. */
  readonly routes: (protect: (route: SettingsRoute) => Route) => RoutesByPath;
}
