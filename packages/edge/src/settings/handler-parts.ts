import type {
  AgentError,
  AgentStream,
  CallOptions,
  EventBatch,
  Memory,
  Msg,
  ReActAgent,
} from '@isoloop/core';
import type { NewTurn, TurnRequest } from '@isoloop/core/host';
import type { Context } from 'hono';
import type {
  AgentSessionClass,
  EdgeEnv,
  HandlerSettings,
  MemorySetup,
} from './handler-options.ts';

/** Function that answers the requests of a path. Errors that it throws become error responses. */
export type Route = (c: Context<EdgeEnv>) => Response | Promise<Response>;

/** Routes of a path, by method. */
export type Routes = Readonly<Record<string, Route>>;

/** A route that also gets the settings of the handler. */
export type SettingsRoute = (
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
) => Response | Promise<Response>;

/** Moves of conversations, for the option `moves` of `createAgentHandler`. */
export interface SessionMoves {
  /** Returns the routes of `/api/chat/:id` that moves need, by method. */
  readonly routes: (protect: (route: SettingsRoute) => Route) => Readonly<Record<string, Route>>;
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

/** Rate limit binding. Cloudflare counts the requests of each location separately. */
export interface RateLimiter {
  limit(options: { readonly key: string }): Promise<{ readonly success: boolean }>;
}

/** The model proxy of an endpoint, for the option `llm` of `createAgentHandler`. */
export interface LlmProxy<Env = object> {
  /** Type marker of the bindings, never set. */
  readonly '~types'?: (env: Env) => void;
  /** Returns the proxy's routes, by path and method. */
  readonly routes: (
    protect: (route: SettingsRoute) => Route,
  ) => Readonly<Record<string, Readonly<Record<string, Route>>>>;
}

/** Function that identifies the caller of a request. Returns the caller's key for a rate limit. */
export type Enter = (c: Context<EdgeEnv>) => Promise<string>;

/** The routes of operators, for the option `operator` of `createAgentHandler`. */
export interface OperatorDesk<Env = object> {
  /** Type marker of the bindings, never set. */
  readonly '~types'?: (env: Env) => void;
  /** Returns the routes, by path and method. `enter` takes the place of `authorize`. */
  readonly routes: (
    protect: (route: SettingsRoute, enter?: Enter) => Route,
  ) => Readonly<Record<string, Readonly<Record<string, Route>>>>;
  /** Returns the class of sessions that tell pages about messages of operators. */
  readonly session: (Session: AgentSessionClass) => AgentSessionClass;
}

/** Entry of a conversation in the list. Times are in milliseconds since 1970. */
export interface ListedSession {
  readonly sessionId: string;
  readonly title?: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface SessionListOptions {
  /**
   * Maximum number of conversations on one page. A page has more if several conversations have the
   * same time as the last one, because the next page begins before that time.
   */
  readonly limit: number;
  /**
   * Time in milliseconds since 1970. The page has only conversations that were last changed before
   * this time. Default: all conversations.
   */
  readonly before?: number | undefined;
}

/** Conversations in Workers KV, for the option `kv` of `createAgentHandler`. */
export interface KvSessions {
  /** Opens the memory of a session. Returns `undefined` if no namespace is bound. */
  readonly open: (setup: MemorySetup) => Memory | undefined;
  /** Returns the list of a user's conversations, or `undefined` if no namespace is bound. */
  readonly list: (env: unknown, user: string) => StoredSessionList | undefined;
}

/** List of a user's conversations in a store. */
export interface StoredSessionList {
  /** Returns a page of the conversations, the most recently changed first. */
  page(options: SessionListOptions): Promise<readonly ListedSession[]>;
  /** Gives a conversation another title. Rejects with `NOT_FOUND` if there is none. */
  rename(sessionId: string, title: string): Promise<void>;
  /** Deletes the title that the user gave to a conversation. */
  forgetTitle(sessionId: string): Promise<void>;
}

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

/** The part of a Durable Object namespace that the routes use. */
export interface SessionNamespace {
  idFromName(name: string): string;
  get(key: string): { fetch(url: string, init: RequestInit): Promise<Response> };
}

/**
 * Converts a batch of events to what the client gets. Texts are sent as they are, and objects as
 * server-sent events. For an empty list, nothing is sent.
 */
export type EncodeBatch = (batch: EventBatch) => readonly (object | string)[];

/** Format of an answer that an API of other clients has. Plain JSON with further fields. */
export interface ApiFormat {
  readonly kind: 'completion' | 'response';
  /** Whether the answer is streamed. */
  readonly stream: boolean;
}

/** Settings for the answer to a request of chat completions or of the Responses API. */
export interface ApiCall {
  /** Options of the agent call. */
  readonly options: CallOptions;
  /**
   * Whether the text of the answer is sent as one piece. Text of an invalid attempt is then never
   * sent.
   */
  readonly sendsWholeText: boolean;
  /** Returns whether a tool of that name belongs to the client. */
  readonly isExternal: (name: string) => boolean;
  /** Throws `INVALID_INPUT` if one of the agent's tools has the name of a client's tool. */
  readonly check: (agent: ReActAgent) => void;
}

/** Turn that has begun. Any number of clients can read its events. */
export interface LiveTurn {
  readonly turn: NewTurn;
  readonly agent: ReActAgent;
  /**
   * Detached stream of the run. The run continues without readers, and the stream keeps all its
   * events.
   */
  readonly stream: AgentStream;
  /** Settings of the answer. Set if a client of OpenAI asked for the turn. */
  readonly call?: ApiCall | undefined;
  /** Messages of the answer that were stored before this run resumed the turn. */
  readonly earlierMessages: readonly Msg[];
}

/** OpenAI's API at `/v1`, for the option `openai` of `createAgentHandler`. */
export interface OpenAiRoutes {
  /** Returns the routes by path and method. */
  readonly routes: (
    protect: (route: SettingsRoute) => Route,
  ) => Readonly<Record<string, Readonly<Record<string, Route>>>>;
  /** Reads the settings for an answer from the fields that a queued turn stores. */
  readonly readCall: (
    fields: Readonly<Record<string, unknown>>,
    settings: HandlerSettings,
  ) => ApiCall;
  /** Returns the response with the answer of a turn that has ended. */
  readonly wholeResponse: (
    live: LiveTurn,
    format: ApiFormat,
    headers: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  /** Creates an encoder for a streamed answer. Without a turn, the stream has only an error. */
  readonly encoder: (live: LiveTurn | undefined, format: ApiFormat) => Promise<EncodeBatch>;
  /** Prepares a session for a turn, and returns the request for the agent. See `prepareTurn`. */
  readonly prepare: (
    memory: Memory,
    request: TurnRequest,
    settings: HandlerSettings,
  ) => Promise<TurnRequest>;
  /** Creates the error for a turn that continues from a response that is not stored. */
  readonly unknownResponseError: () => AgentError;
}
