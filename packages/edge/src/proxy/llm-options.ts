import type { Awaitable } from '@isoloop/core';
import type { Caller } from '../handler-options.ts';

/**
 * Options of the model proxy at `/llm/v1`, for agents that run in a page. They have no key; the
 * edge adds it.
 */
export interface LlmOptions<Env = object> {
  /** Model names that a client may request. */
  readonly models: readonly string[];
  /** Returns the model's server and its key, from the Worker's bindings. */
  readonly upstream: (setup: LlmSetup<Env>) => Awaitable<LlmUpstream>;
  /** Most tokens in a reply; default 4096. Used if a request asks for more or sets no limit. */
  readonly maxTokens?: number;
  /**
   * Request fields to pass on, such as `enable_thinking`, besides those of every chat-completions
   * server.
   */
  readonly fields?: readonly string[];
  /** Longest wait for the server to begin its reply, in milliseconds; default 5 minutes. */
  readonly timeoutMs?: number;
}

export interface LlmSetup<Env = object> extends Caller {
  readonly env: Env;
  /** One of `models`. */
  readonly model: string;
}

export interface LlmUpstream {
  /** API key, sent as `Authorization: Bearer …`. It never appears in an answer or in the log. */
  readonly apiKey?: string;
  /** Address of any server that speaks chat completions; default `https://api.openai.com/v1`. */
  readonly baseURL?: string;
  /**
   * Headers added to each request. Their values are kept secret like the key. Exceptions are
   * headers that only describe the caller or the request: `Referer`, `X-Title`, versions.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** The model's name on that server; default: the requested name. */
  readonly model?: string;
  /**
   * Field for the token limit; default `max_completion_tokens` at OpenAI and Azure, `max_tokens`
   * elsewhere.
   */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens';
  /** Default: the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}
