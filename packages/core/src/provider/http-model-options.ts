import type { Fetch } from './http-request.ts';

/** Fields of `HttpModelOptions`, and `baseURL`, for `checkOptions`. */
export const httpFields =
  'model:string apiKey,headers baseURL:string|? fetch:function|? timeoutMs:count|?';

/**
 * API key of a provider, or a function that returns it. The function is called before each request.
 */
export type ApiKey = string | (() => string | Promise<string>);

/** Options of every model that sends HTTP requests itself. */
export interface HttpModelOptions {
  readonly model: string;
  /**
   * Key for the header `Authorization: Bearer …`, or a function that returns the key before each
   * request. Without a key, the header is not sent. A request to the default address then rejects
   * with `MODEL_AUTH`, unless `headers` have an `authorization` or `fetch` is set.
   */
  readonly apiKey?: ApiKey;
  /**
   * Address of the API, without the path of a service. In a page, it may be a path of the page's
   * own server, such as `/llm/v1`.
   */
  readonly baseURL?: string;
  /** Headers added to each request. They override the library's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Function that sends requests. Default: the global `fetch` at the time of the request. */
  readonly fetch?: Fetch;
  /**
   * Maximum time without content from the server, before and during the reply, in milliseconds.
   * Comments and empty chunks are not content. Default: 5 minutes. `Infinity` means no limit.
   */
  readonly timeoutMs?: number;
}
