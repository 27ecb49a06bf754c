import type { Awaitable } from '@isoloop/core';
import type { Caller } from '../handler-options.ts';

/**
 * The model proxy of `/llm/v1`, for agents that run in a page: they have no key, the edge adds it.
 */
export interface LlmOptions<Env = object> {
  /** The names that may be asked for. */
  readonly models: readonly string[];
  /** Where a request goes, and its key, from the Worker's bindings. */
  readonly upstream: (setup: LlmSetup<Env>) => Awaitable<LlmUpstream>;
  /**
   * The most tokens a reply may have; a request that asks for more, or does not say, gets this.
   * Default 4096.
   */
  readonly maxTokens?: number;
  /**
   * Fields of a request that are passed on beside those of every chat-completions server, such as
   * `enable_thinking`.
   */
  readonly fields?: readonly string[];
  /** Milliseconds until the server has to have begun its reply; default 5 minutes. */
  readonly timeoutMs?: number;
}

export interface LlmSetup<Env = object> extends Caller {
  readonly env: Env;
  /** One of `models`. */
  readonly model: string;
}

export interface LlmUpstream {
  /** Sent as `Authorization: Bearer …`; it never stands in an answer or in the log. */
  readonly apiKey?: string;
  /** Any server that speaks chat completions. Default `https://api.openai.com/v1`. */
  readonly baseURL?: string;
  /**
   * Added to each request. Their values are kept secret like the key, but for those that say who
   * asks and how: `Referer`, `X-Title`, versions.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** The model's name there; default: the one that was asked for. */
  readonly model?: string;
  /** Default: `max_completion_tokens` at OpenAI and Azure, `max_tokens` elsewhere. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens';
  /** Default: the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}
