import type { Awaitable, Memory, ReActAgent } from '@isoloop/core';
import type { EndpointPart } from './endpoint-part.ts';
import type { OpenAiRoutes } from './openai-part.ts';
import type { SessionHome, SessionHomes } from './session-home.ts';

/** Caller of a request: the user to whom the conversation belongs. */
export interface Caller {
  /**
   * User id: well-formed text of 1 to 256 characters, counted after percent-encoding. Users can
   * read only their own sessions.
   */
  readonly user: string;
  /**
   * Whether the user may approve a tool call with other arguments. The tool's schema has to accept
   * them. Default: true.
   */
  readonly mayEdit?: boolean;
}

/** Identity of a session, which is one stored conversation of a user. */
export interface SessionSetup<Env = object> extends Caller {
  readonly env: Env;
  /**
   * Id of the conversation. The client chooses the id, which is unique among the conversations of
   * its user. A request to `/v1` without the header `x-isoloop-session` gets a new id.
   */
  readonly sessionId: string;
}

/** Argument of the function that creates the memory of a session. */
export interface MemorySetup<Env = object> extends SessionSetup<Env> {
  /**
   * Echo that the client sent: a text, signed by `KvMemory`, that identifies the last session state
   * that the client saw. Not verified yet.
   */
  readonly echo?: string;
  /**
   * What `KvMemory` assumes about a client that sent no echo. `start`: the client has not seen the
   * session. `latest`: the client has seen a part of the session.
   */
  readonly withoutEcho: 'start' | 'latest';
}

/** Argument of the function that creates the agent of a session. */
export interface AgentSetup<Env = object> extends SessionSetup<Env> {
  /** Memory of the conversation, for the option `memory` of the agent. */
  readonly memory: Memory;
  /** Model name that the client requested: one of the option `models`. */
  readonly model: string;
}

/** Agent with callbacks for data that the agent stores outside the session's memory. */
export interface SessionAgent {
  readonly agent: ReActAgent;
  /**
   * Function that closes what the factory opened, such as `mcpTools()`, and resolves when all
   * background writes are done, for example `longTermMemory().settled`. Called once for each agent:
   * after its turn, and before `deleteSession`.
   */
  readonly close?: () => Promise<void>;
  /**
   * Function that deletes data of the session outside its memory, for example with
   * `LongTermMemory.deleteSession` or `summarizeHistory().deleteSession`. Called when the session
   * is deleted or expires, before its memory is deleted. If this function rejects, the memory is
   * not deleted.
   */
  readonly deleteSession?: (sessionId: string) => Promise<unknown>;
}

/** The agent of an endpoint, who may use it, and within which limits. */
export interface AgentHandlerOptions<
  Env extends object = object,
  A extends ReActAgent | SessionAgent = ReActAgent | SessionAgent,
> {
  /**
   * Factory that creates a new agent for each turn. Create objects that two turns must not share
   * inside this function. The function gets no request, because a Durable Object also resumes turns
   * without a client.
   */
  readonly agent: (setup: AgentSetup<Env>) => Awaitable<A>;
  /**
   * Function that identifies the caller of a request. If it returns `null` or fails, the response
   * is 401, and a failed login is counted. If it cannot tell at the moment, let it throw an
   * `AgentError` with `OVERLOADED`: the response is 503, and nothing is counted. To read the body,
   * use `request.clone()`. Keep it fast, and cache the keys that it looks up: no stream begins
   * before it has ended, because a 401 needs its status. Default: accepts only requests to
   * `localhost`, `127.0.0.1` and `[::1]`, all as one user. The default refuses requests whose
   * headers or connection show another machine. It cannot detect every proxy on the same machine,
   * so pass `authorize` behind a proxy.
   */
  readonly authorize?: (request: Request, env: Env) => Awaitable<Caller | null>;
  /**
   * Origins whose pages may send requests to the endpoint, such as `https://example.com`. Default:
   * only the endpoint's own origin.
   */
  readonly cors?: readonly string[];
  /**
   * Model names that a client may request. The first name is used if a request names no model.
   * Default: `['default']`.
   */
  readonly models?: readonly string[];
  /**
   * Function that opens the memory of a session. With a Durable Object bound as `CHAT_SESSION`, the
   * object still queues and runs the turns, and only the messages are in this memory. Default with
   * a Durable Object: the object's database. Default without one: `kv`.
   */
  readonly memory?: (setup: MemorySetup<Env>) => Awaitable<Memory>;
  /**
   * Conversations in Workers KV, without Durable Objects: `kvSessions()` of `@isoloop/edge/kv`.
   */
  readonly kv?: SessionHomes;
  /**
   * Conversations in a store, outside Cloudflare: `storeSessions(store)` of `@isoloop/edge/store`.
   * Default: the bindings of the Worker.
   */
  readonly store?: SessionHomes;
  /**
   * Whether all clients also get the agent's events, as `data-isoloop-event` parts without prompts.
   * If false, only clients that post `events: true` get these parts. Default: false.
   */
  readonly events?: boolean;
  /**
   * Function that says whether a user may see the model's prompts, for an inspector: system prompt,
   * messages, tools and settings of each request. It gets the caller that `authorize` returned.
   * Default: nobody may. See `GET /api/chat/:id/stream?events=inspect`.
   */
  readonly inspect?: (caller: Caller) => Awaitable<boolean>;
  /**
   * How `/v1` treats a client's system and developer messages. `as-user` converts them to user
   * messages. `keep` puts them as system messages after the agent's own prompt. Use `keep` only for
   * clients that you fully trust. Default: `as-user`.
   */
  readonly systemMessages?: 'as-user' | 'keep';
  /**
   * Approvals in sessions outside Durable Objects. `at-least-once`: these sessions accept
   * approvals, but two approvals of one tool call that arrive at the same time both run the tool.
   * Default: a turn of an agent that may ask for approval gets 501 `NEEDS_DURABLE_OBJECT`, before
   * the first request to the model. An approval of a tool call that asks for approval only during a
   * run is refused in the same way.
   */
  readonly approvals?: 'at-least-once' | undefined;
  readonly limits?: Partial<EdgeLimits>;
  /**
   * Function that returns the rate limiter for the requests of each user (key: the user), and for
   * failed logins of each address (key `login:<address>`). The address is the one that Cloudflare
   * names. Elsewhere it is that of the connection, which is the same for all behind a proxy. If the
   * host does not tell it, the key is `login:`. A user whose name begins with `login:`, `operator:`
   * or `user:` has the key `user:<name>`. Default: the rate limit bound as
   * `RATE_LIMITER`, if any.
   */
  readonly rateLimit?: (env: Env) => RateLimiter | undefined;
  /**
   * Secrets that the Worker's log must never show, beside what looks like a key: names of bindings,
   * or a function that returns the values. They are also hidden in URLs, JSON and base64. Values of
   * less than 4 characters are ignored.
   */
  readonly secrets?: readonly string[] | ((env: Env) => readonly string[]);
  /**
   * OpenAI's API at `/v1`: `openAiRoutes()` of `@isoloop/openai-api`. Default: no such routes.
   */
  readonly openai?: OpenAiRoutes;
  /** The model proxy at `/llm/v1`: `llmProxy()` of `@isoloop/edge/llm`. Default: no proxy. */
  readonly llm?: EndpointPart<Env>;
  /**
   * Routes with which conversations move to other places and back: `sessionMoves()` of
   * `@isoloop/edge/move`. Default: conversations stay here.
   */
  readonly moves?: EndpointPart;
  /**
   * The routes with which a person answers in the assistant's place: `operatorDesk()` of
   * `@isoloop/edge/operator`. Default: no such routes.
   */
  readonly operator?: EndpointPart<Env>;
  /** Options for sessions in Durable Objects. */
  readonly sessions?: Partial<SessionOptions>;
}

/** Rate limit binding. Cloudflare counts the requests of each location separately. */
export interface RateLimiter {
  limit(options: { readonly key: string }): Promise<RateLimitOutcome>;
}

/** What a rate limiter answers. */
interface RateLimitOutcome {
  /** Whether the request is within the limit. */
  readonly success: boolean;
  /**
   * Time after which a refused client may try again, in milliseconds. It becomes the response's
   * `retry-after`. Cloudflare's binding does not tell it. Default: 60,000, its longest period.
   */
  readonly retryAfterMs?: number;
}

/** How long sessions in a Durable Object live, and how they continue after a crash. */
export interface SessionOptions {
  /**
   * Maximum number of times that a turn is resumed after its isolate died. Each resumption sends
   * new requests to the model. After the last one, open tool calls get an error result and the
   * partial answer is kept. Default: 3.
   */
  readonly resumeAttempts: number;
  /**
   * Time without a turn or a new message after which a session is deleted, in milliseconds, with
   * the messages that wait in it. Default: `Infinity`, so sessions are never deleted.
   */
  readonly expireAfterMs: number;
  /**
   * Time between alarms of a Durable Object, in milliseconds. Alarms keep the object awake during a
   * turn, and resume a turn whose isolate died. Maximum: 60,000. Default: 30,000.
   */
  readonly heartbeatMs: number;
  /**
   * Maximum number of turns of a session that wait behind the running turn. A further turn gets 503
   * `OVERLOADED`. Default: 50.
   */
  readonly queuedTurns: number;
}

/** How large requests and results may be, and how long a turn goes on without a client. */
export interface EdgeLimits {
  /**
   * Maximum size of a request body, in bytes. A larger body gets 413 `PAYLOAD_TOO_LARGE`. Default:
   * 1 MiB.
   */
  readonly bodyBytes: number;
  /**
   * Maximum number of messages in one request. A request with more gets 413 `PAYLOAD_TOO_LARGE`.
   * Default: 1000.
   */
  readonly messages: number;
  /**
   * Maximum length of a client's tool result or rejection reason, in characters. A longer one gets
   * 413 `PAYLOAD_TOO_LARGE`. Default: 200,000.
   */
  readonly toolResultChars: number;
  /**
   * Maximum number of output tokens that a `/v1` client may request. Larger values are reduced to
   * this number. Default: `Infinity`, so the client's value applies.
   */
  readonly outputTokens: number;
  /**
   * Time that a turn continues after its client disconnects, in milliseconds. The turn then stops
   * and the partial answer is kept. Cloudflare Workers ends all work on a request 30 seconds after
   * the client disconnects. Default: 25,000.
   */
  readonly afterDisconnectMs: number;
  /**
   * Maximum time without data on a stream, in milliseconds. A comment then keeps the connection
   * open. Each stream opens within a second, and its header `x-isoloop-keep-alive` has this time.
   * `Infinity` sends no comments. Default: 5000, because Bun ends connections that are silent for
   * 10 seconds.
   */
  readonly keepAliveMs: number;
}

/** Durable Object class. List it in `wrangler.toml` under `new_sqlite_classes`. */
export type AgentSessionClass<Env extends object = object> = new (
  ctx: DurableObjectState,
  env: Env,
) => DurableObject & { alarm(): Promise<void> };

/** Types of Hono for the routes of an endpoint: bindings and variables. */
export interface EdgeEnv<Env extends object = object> {
  Bindings: Env;
  Variables: RequestVariables;
}

/** What an endpoint knows about a request. */
export interface RequestVariables {
  /**
   * Id of the request, in error responses, in the header `x-request-id` and in the Worker's log.
   */
  requestId: string;
  /** API whose error format the response uses. */
  errorFormat: 'isoloop' | 'openai';
  /** What `authorize` returned. */
  caller: Caller;
  /** Where the conversations live. */
  home: SessionHome;
  /** Headers that the route gives its response, also if it fails. */
  routeHeaders?: readonly (readonly [name: string, value: string])[];
  /** Aborted if the client cancels a stream before its answer begins. */
  departure?: AbortController;
}

/** Options of the handler with the defaults filled in. */
export interface HandlerSettings<Env extends object = object> extends AgentHandlerOptions<Env> {
  readonly models: readonly string[];
  readonly limits: EdgeLimits;
  readonly sessions: SessionOptions;
}

export const defaultLimits: EdgeLimits = {
  bodyBytes: 1024 * 1024,
  messages: 1000,
  toolResultChars: 200_000,
  outputTokens: Infinity,
  afterDisconnectMs: 25_000,
  keepAliveMs: 5000,
};
export const defaultSessions: SessionOptions = {
  resumeAttempts: 3,
  expireAfterMs: Infinity,
  heartbeatMs: 30_000,
  queuedTurns: 50,
};
