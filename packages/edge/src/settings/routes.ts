import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings } from './handler-options.ts';

/** Function that answers the requests of a path. Errors that it throws become error responses. */
export type Route = (c: Context<EdgeEnv>) => Response | Promise<Response>;

/** Routes of a path, by method. */
export type Routes = Readonly<Record<string, Route>>;

/** Routes by path and method. */
export type RoutesByPath = Readonly<Record<string, Routes>>;

/** A route that also gets the settings of the handler. */
export type SettingsRoute = (
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
) => Response | Promise<Response>;
