import type { Awaitable } from '@isoloop/core';
import type { Caller } from '../settings/handler-options.ts';

/**
 * Options of the model proxy at `/llm/v1`, for agents that run in a page. The page has no API key;
 * the proxy adds the key.
 */
export interface LlmOptions<Env = object> {
  /** Model names that a client may request. */
  readonly models: readonly string[];
  /**
   * Function that returns the address and the API key of the model's server, from the Worker's
   * bindings. If it takes longer than a second, the stream opens without it, and a later failure is
   * in the stream.
   */
  readonly upstream: (setup: LlmSetup<Env>) => Awaitable<LlmUpstream>;
  /**
   * Maximum number of tokens in a reply. Used if a request asks for more or sets no limit. Default:
   * 4096.
   */
  readonly maxTokens?: number;
  /**
   * Names of further request fields to forward, such as `enable_thinking`. Default: only fields
   * that every server of the API knows.
   */
  readonly fields?: readonly string[];
  /**
   * Maximum time until the server begins its reply, in milliseconds. Default: 300,000, which is 5
   * minutes.
   */
  readonly timeoutMs?: number;
}

/** A client's request to the model proxy, for the function that names the server. */
export interface LlmSetup<Env = object> extends Caller {
  readonly env: Env;
  /** Model name that the client requested: one of `models`. */
  readonly model: string;
}

/** The server that answers the requests of a model proxy, and its key. */
export interface LlmUpstream {
  /**
   * API key, sent as `Authorization: Bearer …`. The proxy removes the key from answers and from the
   * log.
   */
  readonly apiKey?: string;
  /**
   * Base URL of a server with the chat-completions API or the Responses API. Default:
   * `https://api.openai.com/v1`.
   */
  readonly baseURL?: string;
  /**
   * Headers to add to each request. The proxy removes their values from answers and from the log,
   * like the API key. Values of headers that only describe the caller or the request, such as
   * `Referer`, `X-Title` and versions, are not removed.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of the model on that server. Default: the requested name. */
  readonly model?: string;
  /**
   * Request field for the token limit of chat completions. Default: `max_completion_tokens` for
   * OpenAI and Azure, `max_tokens` for other servers.
   */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens';
  /** Function that sends the requests. Default: the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}
