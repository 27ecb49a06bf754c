import { AgentError } from '../error/agent-error.ts';
import type { ModelContext } from '../model/chat-model.ts';
import type { HttpModelOptions } from './http-model-options.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Body of a POST as JSON text. Without it, the request is a GET. */
  readonly body?: string | undefined;
  /** Path at the end of most base URLs of this API. Default: `/v1`. */
  readonly api?: string;
  /** `fetch` function to use. Default: the global `fetch` at the time of the request. */
  readonly fetch?: Fetch | undefined;
  readonly signal: AbortSignal;
  /** Maximum wait for the response, and then for content, in milliseconds. Default: 5 minutes. */
  readonly timeoutMs?: number | undefined;
  /** Maximum length of the reply, in characters. Default: no limit. */
  readonly replyLength?: number | undefined;
  /** Function called after each network read. Its promise delays the deltas of the read. */
  readonly onRead?: (() => Promise<void> | undefined) | undefined;
}

/**
 * Returns the parts of a request that are the same for every provider. Rejects with `CONFIGURATION`
 * if the key has characters that cannot be sent. Rejects with `MODEL_AUTH` if the function `apiKey`
 * fails, or if the provider's own server would get no key.
 */
export async function httpRequest(
  options: HttpModelOptions,
  context: ModelContext,
): Promise<Omit<HttpRequest, 'url' | 'body'>> {
  const { apiKey, baseURL, fetch, headers } = options;
  try {
    const given = typeof apiKey === 'function' ? apiKey() : apiKey;
    const key = (await given)?.trim();
    if (key && !/^[!-~]+$/.test(key))
      throw new AgentError('CONFIGURATION', 'The API key has characters that cannot be sent.');
    const isOwnServer = baseURL === undefined && !fetch;
    if (!key && isOwnServer && !new Headers(headers).has('authorization'))
      throw new Error('The API key is missing. Set apiKey or baseURL.');
    const own = key && { authorization: `Bearer ${key}` };
    return { ...options, ...context, headers: { ...own, ...headers } };
  } catch (error) {
    throw AgentError.from(error, 'MODEL_AUTH');
  }
}
