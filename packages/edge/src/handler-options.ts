import type { Awaitable, Memory, ReActAgent } from '@isoloop/core';
import type { Hono } from 'hono';
import type { LlmOptions } from './proxy/llm-options.ts';
import type { RateLimiter } from './http/rate-limit.ts';
import type { SchemaChecker } from './completions/response-format.ts';

/** Whose conversation it is. */
export interface Caller {
  /**
   * Identifies the caller: well-formed text of 1 to 256 characters, percent-encoded. Nobody reads
   * another user's sessions.
   */
  readonly user: string;
}

export interface SessionSetup<Env = object> extends Caller {
  readonly env: Env;
  /**
   * The conversation's id as the client chose it, unique within its user; of a request to `/v1` a
   * new one.
   */
  readonly session: string;
}

export interface MemorySetup<Env = object> extends SessionSetup<Env> {
  /** What the client knows of the session, as `KvMemory` signed it; not checked yet. */
  readonly echo?: string;
  /**
   * What `KvMemory` does for a client without an echo: the session is new to it (`start`), or it
   * has seen some of it (`latest`).
   */
  readonly withoutEcho: 'start' | 'latest';
}

export interface AgentSetup<Env = object> extends SessionSetup<Env> {
  /** Holds the conversation: give it to the agent. */
  readonly memory: Memory;
  /** One of `models`. */
  readonly model: string;
}

/** An agent with what it keeps elsewhere than in its session's memory. */
export interface SessionAgent {
  readonly agent: ReActAgent;
  /**
   * Resolves when nothing is being written any more, as `longTermMemory().settled`; awaited behind
   * each turn and before `forget`. The place to close what the factory opened, such as
   * `mcpTools()`.
   */
  readonly settled?: () => Promise<void>;
  /**
   * Deletes what is kept of the session elsewhere: `LongTermMemory.deleteSession`,
   * `summarization().forget`. Called when the session is deleted or expires, before its memory
   * is; where it rejects nothing else is deleted.
   */
  readonly forget?: (sessionId: string) => Promise<unknown>;
}

export interface AgentHandlerOptions<Env extends object = object> {
  /**
   * Makes the agent of a session, anew for each turn: what two turns must not share is made in
   * here. It is given what is stored, never a request: a Durable Object goes on with a turn when no
   * client is there.
   */
  readonly agent: (setup: AgentSetup<Env>) => Awaitable<ReActAgent | SessionAgent>;
  /**
   * Who asks; `null` or a failure: 401. Reads the body, if it must, from a `clone()`. Without it
   * only requests to `localhost`, `127.0.0.1` and `[::1]` are answered, all as one user, and none
   * that a proxy or Cloudflare says is from elsewhere.
   */
  readonly authorize?: (request: Request, env: Env) => Awaitable<Caller | null>;
  /**
   * Origins whose pages may call the endpoint, as `https://example.com`. Default: none but its own.
   */
  readonly cors?: readonly string[];
  /** Names a client may ask for, the first for one that names none. Default `['default']`. */
  readonly models?: readonly string[];
  /**
   * Where a session is kept. Default: `KvMemory` in the namespace bound as `CHAT_KV`, with echoes
   * where a secret is bound as `SESSION_SECRET` (32 characters or more); `SESSION_SECRET_OLD` is
   * accepted, too, while the secret is changed.
   */
  readonly memory?: (setup: MemorySetup<Env>) => Awaitable<Memory>;
  /**
   * Sends the agent's events along, as `data-isoloop-event` parts without prompts; false: to
   * clients that post `events: true`.
   */
  readonly events?: boolean;
  /**
   * What `/v1` makes of a client's system and developer messages: its user's words (default), or
   * system messages behind the agent's own prompt, which is for clients that are trusted as you
   * are.
   */
  readonly systemMessages?: 'as-user' | 'keep';
  /**
   * Checks answers of `/v1` by the JSON Schema a client asks for: `jsonSchema` of
   * `@isoloop/core/json-schema`. Default: only that they are JSON.
   */
  readonly jsonSchema?: SchemaChecker;
  readonly limits?: Partial<EdgeLimits>;
  /**
   * The limiter that counts each user's requests. Default: the rate limit bound as `RATE_LIMITER`,
   * where there is one.
   */
  readonly rateLimit?: (env: Env) => RateLimiter | undefined;
  /** The model proxy at `/llm/v1`; default: there is none. */
  readonly llm?: LlmOptions<Env>;
  /** For sessions in Durable Objects. */
  readonly sessions?: Partial<SessionOptions>;
}

export interface SessionOptions {
  /**
   * How often a turn is gone on with whose isolate died, each time with new requests to the model;
   * default 3. After that, and with 0, its open tool calls are closed and what there is of its
   * answer stays.
   */
  readonly resumeAttempts: number;
  /** Milliseconds without a turn until a session is deleted; default: never. */
  readonly expireAfterMs: number;
  /**
   * Milliseconds between the alarms that keep a running turn's object awake, and find a turn whose
   * isolate died; default 30,000.
   */
  readonly heartbeatMs: number;
  /**
   * Turns of a session that may wait behind the one that runs; default 50. More: 503 `OVERLOADED`.
   */
  readonly queuedTurns: number;
}

export interface EdgeLimits {
  /** Bytes of a request's body; default 1 MiB. Longer: 413 `PAYLOAD_TOO_LARGE`. */
  readonly bodyBytes: number;
  /** Messages one request may hold; default 1000. More: 413 `PAYLOAD_TOO_LARGE`. */
  readonly messages: number;
  /**
   * Characters of one tool's result that a client sends, and of its reason for a refusal; default
   * 200,000. More: 413 `PAYLOAD_TOO_LARGE`.
   */
  readonly toolResultChars: number;
  /**
   * Tokens a client of `/v1` may ask a reply to have at most; one that asks for more gets these.
   * Default: what it asks for.
   */
  readonly outputTokens: number;
  /**
   * Milliseconds a turn goes on without its client, before it is stopped and what there is of the
   * answer is kept; default 25,000. Workers ends a request's work 30 seconds after its client has
   * gone.
   */
  readonly afterDisconnectMs: number;
  /** Milliseconds of silence on a stream until a comment keeps it alive; default 15,000. */
  readonly keepAliveMs: number;
}

/** The endpoint: a Worker's default export, or `route()`d into another Hono app. */
export type AgentHandler<Env extends object = object> = Hono<EdgeEnv<Env>> & {
  /**
   * The class of the Durable Objects that sessions are, to be exported by the Worker; used where it
   * is bound as `CHAT_SESSION`.
   */
  readonly Session: AgentSessionClass<Env>;
};

/** A class for `wrangler.toml`, under `new_sqlite_classes`. */
export type AgentSessionClass<Env extends object = object> = new (
  ctx: DurableObjectState,
  env: Env,
) => DurableObject & { alarm(): Promise<void> };

export interface EdgeEnv<Env extends object = object> {
  Bindings: Env;
  Variables: RequestVariables;
}

export interface RequestVariables {
  /** Names the request in its error, in `x-request-id` and in the log. */
  requestId: string;
  /** Whose shape an error has. */
  face: 'isoloop' | 'openai';
  user: string;
}

/** The options with all defaults in. */
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
