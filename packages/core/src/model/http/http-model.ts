import { AgentError, misconfigured } from '../../error/agent-error.ts';
import { anything, func, nonNegative, optional, string } from '../../error/options/kinds.ts';
import type { OptionTable, OtherNames } from '../../error/options/option-table.ts';
import type { ChatModel, ModelContext, ModelFeatures, ModelRequest } from '../chat-model.ts';
import type { Formatter } from '../formatter/formatter.ts';
import { modelHeaders, type PerRequest, type RequestHeaders } from '../../endpoint/per-request.ts';
import { streamReply, type HttpRequest } from './http-transport.ts';

export const httpModelOptions: OptionTable<HttpModelOptions> = {
  model: string,
  apiKey: anything,
  headers: anything,
  baseURL: optional(string),
  fetch: optional(func),
  timeoutMs: optional(nonNegative),
};

/** Names that other libraries use for the options of a model. */
export const otherModelNames: OtherNames<HttpModelOptions> = {
  model: ['modelName', 'modelId'],
  apiKey: ['api_key', 'apikey', 'APIKEY'],
  baseURL: ['baseUrl', 'base_url', 'url'],
  headers: ['defaultHeaders'],
  timeoutMs: ['timeout'],
  'new ReActAgent({ generate })': ['temperature', 'maxTokens', 'maxOutputTokens'],
  'new ReActAgent({ use: [retry()] })': ['maxRetries'],
};

/**
 * API key of a provider, or a function that returns it. The function is called before each request.
 */
type ApiKey = string | (() => string | Promise<string>);

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
  /**
   * Headers added to each request, or a function that returns them before each request. They
   * override the library's own. A function that fails is `MODEL_AUTH`.
   */
  readonly headers?: PerRequest<RequestHeaders>;
  /** Function that sends requests. Default: the global `fetch` at the time of the request. */
  readonly fetch?: Fetch;
  /**
   * Maximum time without content from the server, before and during the reply, in milliseconds.
   * Comments and empty chunks are not content. Default: 5 minutes. `Infinity` means no limit.
   */
  readonly timeoutMs?: number;
}

/** The part of `fetch` that models need, for a proxy, a test or an own transport. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Returns the parts of a request that are the same for every provider. Rejects with `CONFIGURATION`
 * if the key has characters that cannot be sent. Rejects with `MODEL_AUTH` if the function `apiKey`
 * fails, or if the provider's own server would get no key.
 */
export async function httpRequest(
  options: HttpModelOptions,
  context: ModelContext,
): Promise<Omit<HttpRequest, 'url' | 'body'>> {
  const { apiKey, baseURL, fetch } = options;
  try {
    const headers = await modelHeaders(options.headers);
    const pendingKey = typeof apiKey === 'function' ? apiKey() : apiKey;
    const key = (await pendingKey)?.trim();
    if (key && !/^[!-~]+$/.test(key))
      throw misconfigured(
        'The API key has characters that cannot be sent in a header, such as a blank or a line break.',
      );
    const isOwnServer = baseURL === undefined && !fetch;
    if (!key && isOwnServer && !new Headers(headers).has('authorization'))
      throw new Error('The API key is missing. Set apiKey or baseURL.');
    const keyHeaders = key && { authorization: `Bearer ${key}` };
    return { ...options, ...context, headers: { ...keyHeaders, ...headers } };
  } catch (error) {
    throw AgentError.from(error, 'MODEL_AUTH');
  }
}

/** What a provider's model has besides the options that every model over HTTP has. */
interface HttpProvider {
  /** Name of the provider, for metrics and traces. */
  readonly provider: string;
  readonly features: ModelFeatures;
  readonly formatter: Formatter;
  /** Returns the address to which a request goes. */
  url(request: ModelRequest): string;
  /** Path at the end of most base URLs of the API. Default: `/v1`. */
  readonly api?: string;
}

/** Creates a model that sends each request to an HTTP server and reads the reply as it arrives. */
export function httpModel(
  options: HttpModelOptions,
  { provider, features, formatter, url, api }: HttpProvider,
): ChatModel {
  return {
    provider,
    modelId: options.model,
    features,
    stream: (request, context) =>
      streamReply(
        async () => ({
          ...(await httpRequest(options, context)),
          api,
          url: url(request),
          body: formatter.format(request),
        }),
        formatter.decoder(),
      ),
  };
}
