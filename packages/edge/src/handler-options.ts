import type { Awaitable, Memory, ReActAgent } from '@isoloop/core';
import type { Hono } from 'hono';
import type { LlmOptions } from './proxy/llm-options.ts';
import type { RateLimiter } from './http/rate-limit.ts';
import type { SchemaChecker } from './completions/response-format.ts';

/** The user a conversation belongs to. */
export interface Caller {
  /**
   * User id: well-formed text of 1 to 256 characters, counted percent-encoded. Users read only
   * their own sessions.
   */
  readonly user: string;
}

export interface SessionSetup<Env = object> extends Caller {
  readonly env: Env;
  /**
   * The conversation's id, chosen by the client and unique within its user. A request to `/v1`
   * without `x-isoloop-session` gets a new one.
   */
  readonly session: string;
}

export interface MemorySetup<Env = object> extends SessionSetup<Env> {
  /** The session state that the client last saw, signed by `KvMemory`; not verified yet. */
  readonly echo?: string;
  /**
   * How `KvMemory` treats a client without an echo. `start`: the session is new to the client.
   * `latest`: the client has seen some of it.
   */
  readonly withoutEcho: 'start' | 'latest';
}

export interface AgentSetup<Env = object> extends SessionSetup<Env> {
  /** Memory of the conversation; pass it to the agent. */
  readonly memory: Memory;
  /** One of `models`. */
  readonly model: string;
}

/** An agent, with callbacks for the data it keeps outside the session's memory. */
export interface SessionAgent {
  readonly agent: ReActAgent;
  /**
   * Resolves when all background writes are done, such as `longTermMemory().settled`. Awaited after
   * each turn and before `forget`. Close here what the factory opened, such as `mcpTools()`.
   */
  readonly settled?: () => Promise<void>;
  /**
   * Deletes the session's data kept elsewhere: `LongTermMemory.deleteSession`,
   * `summarization().forget`. Called when the session is deleted or expires, before its memory is
   * deleted. If it rejects, nothing else is deleted.
   */
  readonly forget?: (sessionId: string) => Promise<unknown>;
}

export interface AgentHandlerOptions<Env extends object = object> {
  /**
   * Creates the agent of a session, anew for each turn. Objects that two turns must not share have
   * to be created here. It gets stored data, never a request: a Durable Object resumes turns
   * without a client.
   */
  readonly agent: (setup: AgentSetup<Env>) => Awaitable<ReActAgent | SessionAgent>;
  /**
   * Identifies the caller of a request; `null` or a failure: 401. To read the body, use
   * `request.clone()`. Default: answers only requests to `localhost`, `127.0.0.1` and `[::1]`, all
   * as one user. The default refuses requests that a proxy or Cloudflare marks as coming from
   * elsewhere.
   */
  readonly authorize?: (request: Request, env: Env) => Awaitable<Caller | null>;
  /**
   * Origins whose pages may call the endpoint, such as `https://example.com`. Default: only its
   * own.
   */
  readonly cors?: readonly string[];
  /**
   * Model names a client may request; the first is used if a request names none. Default
   * `['default']`.
   */
  readonly models?: readonly string[];
  /**
   * Opens the memory of a session. Default: the database of the session's Durable Object if there
   * is one, else `KvMemory` in the namespace bound as `CHAT_KV`. Echoes in KV need a secret of 32
   * or more characters, bound as `SESSION_SECRET`. While you replace it, `SESSION_SECRET_OLD` is
   * accepted too.
   */
  readonly memory?: (setup: MemorySetup<Env>) => Awaitable<Memory>;
  /**
   * Whether all clients also get the agent's events, as `data-isoloop-event` parts without prompts.
   * If false (default), only clients that post `events: true` get them.
   */
  readonly events?: boolean;
  /**
   * How `/v1` treats a client's system and developer messages. `as-user` (default) turns them into
   * user messages. `keep` puts them as system messages after the agent's own prompt; use it only
   * for clients you fully trust.
   */
  readonly systemMessages?: 'as-user' | 'keep';
  /**
   * Validates `/v1` answers against the JSON Schema a client sends: `jsonSchema` of
   * `@isoloop/core/json-schema`. Default: checks only that they are JSON.
   */
  readonly jsonSchema?: SchemaChecker;
  readonly limits?: Partial<EdgeLimits>;
  /**
   * Returns the limiter that counts each user's requests. Default: the rate limit bound as
   * `RATE_LIMITER`, if any.
   */
  readonly rateLimit?: (env: Env) => RateLimiter | undefined;
  /** Options of the model proxy at `/llm/v1`. Default: no proxy. */
  readonly llm?: LlmOptions<Env>;
  /** Options for sessions in Durable Objects. */
  readonly sessions?: Partial<SessionOptions>;
}

export interface SessionOptions {
  /**
   * How often a turn is resumed after its isolate died; default 3. Each time sends new requests to
   * the model. After that, or with 0, the open tool calls are closed and the partial answer stays.
   */
  readonly resumeAttempts: number;
  /** Time without a turn, in milliseconds, after which a session is deleted; default: never. */
  readonly expireAfterMs: number;
  /**
   * Time between alarms, in milliseconds; default 30,000. Alarms keep a running turn's object
   * awake, and find a turn whose isolate died.
   */
  readonly heartbeatMs: number;
  /**
   * Turns of a session that may wait behind the running one; default 50. More: 503 `OVERLOADED`.
   */
  readonly queuedTurns: number;
}

export interface EdgeLimits {
  /** Largest request body, in bytes; default 1 MiB. Larger: 413 `PAYLOAD_TOO_LARGE`. */
  readonly bodyBytes: number;
  /** Most messages in one request; default 1000. More: 413 `PAYLOAD_TOO_LARGE`. */
  readonly messages: number;
  /**
   * Longest tool result or refusal reason a client may send, in characters; default 200,000.
   * Longer: 413 `PAYLOAD_TOO_LARGE`.
   */
  readonly toolResultChars: number;
  /**
   * Most tokens per reply that a `/v1` client may request; larger values are reduced to this.
   * Default: the client's value.
   */
  readonly outputTokens: number;
  /**
   * Time a turn continues after its client disconnects, in milliseconds; default 25,000. Then the
   * turn stops and the partial answer is kept. Workers ends a request's work 30 seconds after its
   * client has gone.
   */
  readonly afterDisconnectMs: number;
  /**
   * Longest silence on a stream, in milliseconds, before a comment keeps it alive; default 15,000.
   */
  readonly keepAliveMs: number;
}

/** The endpoint: a Worker's default export, or a Hono app to mount with `route()`. */
export type AgentHandler<Env extends object = object> = Hono<EdgeEnv<Env>> & {
  /**
   * The Durable Object class for sessions. Export it from the Worker; the handler uses it if it is
   * bound as `CHAT_SESSION`.
   */
  readonly Session: AgentSessionClass<Env>;
};

/** A Durable Object class, listed in `wrangler.toml` under `new_sqlite_classes`. */
export type AgentSessionClass<Env extends object = object> = new (
  ctx: DurableObjectState,
  env: Env,
) => DurableObject & { alarm(): Promise<void> };

export interface EdgeEnv<Env extends object = object> {
  Bindings: Env;
  Variables: RequestVariables;
}

export interface RequestVariables {
  /** Id of the request in its error, in `x-request-id` and in the log. */
  requestId: string;
  /** The API whose error format the response uses. */
  face: 'isoloop' | 'openai';
  user: string;
}

/** The options, with every default filled in. */
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
  keepAliveMs: 15_000,
};
export const defaultSessions: SessionOptions = {
  resumeAttempts: 3,
  expireAfterMs: Infinity,
  heartbeatMs: 30_000,
  queuedTurns: 50,
};
