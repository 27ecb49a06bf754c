import type { Context } from 'hono';
import type { AgentSessionClass, EdgeEnv, HandlerSettings } from './handler-options.ts';

/** What a feature adds to an endpoint, such as `llmProxy()`. */
export interface EndpointPart<Env = object> {
  /** Type marker of the bindings, never set. */
  readonly '~types'?: (env: Env) => void;
  readonly routes: RoutesByPath;
  /** Returns the class of sessions with what the feature adds to them. */
  readonly session?: (Session: AgentSessionClass, settings: HandlerSettings) => AgentSessionClass;
  /**
   * Reads what has to outlive the deletion of a session. Returns a function that stores it after
   * the deletion.
   */
  readonly keepOnDelete?: (storage: DurableObjectStorage, sessionId: string) => Promise<() => void>;
}

/** Routes by path. Two features may have routes of the same path. */
export type RoutesByPath = Readonly<Record<string, Routes>>;

/** Routes of a path, by method. `*` answers all other methods. */
export interface Routes extends Readonly<Partial<Record<Method, Route>>> {
  /**
   * Who may call these routes. `anyone`: nobody is identified or counted. Default: whom the option
   * `authorize` accepts.
   */
  readonly enter?: Identify | 'anyone';
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | '*';

/** Function that answers a request. Errors that it throws become error responses. */
export type Route = (
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
) => Response | Promise<Response>;

/** Function that identifies the caller of a request. Returns the caller's key for a rate limit. */
export type Identify = (c: Context<EdgeEnv>) => Promise<string>;
