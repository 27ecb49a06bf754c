import { AgentError, misconfigured, type AgentErrorCode } from '../../error/agent-error.ts';
import { checkId } from '../../error/options/check-id.ts';
import { requestEndpoint, type EndpointLimits } from '../../endpoint/endpoint-request.ts';
import type { PerRequest, RequestHeaders } from '../../endpoint/per-request.ts';
import type { SessionCopy, SessionPlace } from './session-place.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { either, func, object, optional, positive, string } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';

/** How to send requests to an `endpointPlace()`: headers, credentials, `fetch` and time limits. */
export interface EndpointPlaceOptions extends EndpointLimits {
  /**
   * Headers of each request, such as `authorization`. A function is called for each request, and
   * may be asynchronous. If it fails, the request rejects with `UNAUTHORIZED`.
   */
  readonly headers?: PerRequest<RequestHeaders>;
  readonly credentials?: PerRequest<'omit' | 'same-origin' | 'include'>;
  /** Function that makes the requests. Default: `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

const echoHeader = 'x-isoloop-echo';

/** Name of an endpoint in its own copies. An endpoint does not know its own address. */
export const endpointHere = 'here:';

/**
 * Returns an endpoint of `@isoloop/edge` with the option `moves` as a place for conversations.
 * `api`: whole address of its chat route, such as `https://example.com/api/chat`. This is the name
 * of the place, too. Throws `CONFIGURATION` for an address without a scheme.
 */
export function endpointPlace(api: string, options: EndpointPlaceOptions = {}): SessionPlace {
  checkOptions('endpointPlace()', options, endpointPlaceOptions);
  if (!/^https?:/.test(api))
    throw misconfigured(`endpointPlace() needs the whole address of the route, not "${api}".`);
  const name = api.replace(/\/$/, '');
  const client = new PlaceClient(name, options);
  return {
    name,
    async read(sessionId) {
      const response = await client.ask(sessionId, { method: 'GET' });
      if (response.status === 204) return undefined;
      const copy = (await response.json()) as SessionCopy;
      return { ...copy, ownership: withOwnerName(copy.ownership, endpointHere, name) };
    },
    async put(copy) {
      const ownership = withOwnerName(copy.ownership, name, endpointHere);
      await client.ask(copy.sessionId, { method: 'PUT', body: { ...copy, ownership } });
    },
    async setOwner(sessionId, change) {
      const body = withOwnerName(change, name, endpointHere);
      await client.ask(sessionId, { method: 'PUT', body });
    },
    async stop(sessionId) {
      await client.ask(sessionId, { method: 'POST', path: '/interrupt', body: { mode: 'abort' } });
    },
  };
}

const endpointPlaceOptions: OptionTable<EndpointPlaceOptions> = {
  headers: optional(either(object, func)),
  credentials: optional(either(string, func)),
  fetch: optional(func),
  timeoutMs: optional(positive),
  silenceMs: optional(positive),
};

/** A request about one session. `path`: what follows the address of the session. */
interface PlaceRequest {
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path?: string;
  readonly body?: object | undefined;
}

/** Sends requests to the chat route of an endpoint. */
class PlaceClient {
  readonly #api: string;
  readonly #options: EndpointPlaceOptions;
  /**
   * The last echo of each address. With it, an endpoint with KV knows which state this place has
   * seen.
   */
  readonly #echoes: Map<string, string> = new Map();

  constructor(api: string, options: EndpointPlaceOptions) {
    this.#api = api;
    this.#options = options;
  }

  /** Rejects with the error of the endpoint. */
  async ask(sessionId: string, { method, path = '', body }: PlaceRequest): Promise<Response> {
    checkId(sessionId, 'session id');
    const url = `${this.#api}/${encodeURIComponent(sessionId)}${path}`;
    const echo = this.#echoes.get(url);
    const headers = {
      'content-type': 'application/json',
      ...(echo !== undefined && { [echoHeader]: echo }),
    };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await requestEndpoint({ ...this.#options, url, init });
    if (!response.ok) throw await errorIn(response, url);
    const nextEcho = response.headers.get(echoHeader);
    if (nextEcho !== null) this.#echoes.set(url, nextEcho);
    return response;
  }
}

function withOwnerName<O extends { readonly owner: string }>(
  ownership: O | undefined,
  from: string,
  to: string,
): O | undefined {
  return ownership?.owner === from ? { ...ownership, owner: to } : ownership;
}

interface ErrorBody {
  readonly code: AgentErrorCode;
  readonly message: string;
  readonly movedTo?: string;
}

async function errorIn(response: Response, url: string): Promise<AgentError> {
  const body = (await response.json().catch(() => ({}))) as { readonly error?: ErrorBody };
  const { error } = body;
  if (!error?.code) return new AgentError('INTERNAL', `${url} answered with ${response.status}.`);
  const { code, message, movedTo } = error;
  return new AgentError(code, message, movedTo === undefined ? {} : { details: { movedTo } });
}
