import { AgentError, misconfigured, checkOptions } from '../../error/agent-error.ts';
import { checkId } from '../../error/check-id.ts';
import type { AgentErrorCode } from '../../error/agent-error.ts';
import { requestEndpoint, type EndpointLimits } from '../../model/http/endpoint-request.ts';
import type { PerRequest, RequestHeaders } from '../../model/http/per-request.ts';
import type { SessionCopy, SessionPlace } from './session-place.ts';

/** How to send requests to an `endpointPlace()`: headers, credentials, `fetch` and time limits. */
export interface EndpointPlaceOptions extends EndpointLimits {
  /**
   * Headers of each request, such as `authorization`. A function is called for each request, and
   * may be asynchronous. If it fails, the request rejects with `UNAUTHORIZED`.
   */
  readonly headers?: PerRequest<RequestHeaders>;
  readonly credentials?: PerRequest<'omit' | 'same-origin' | 'include'>;
  /**
   * Function that makes the requests.
   * @default fetch
   */
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
  const fields =
    'headers:object|function|? credentials:string|function|? fetch:function|? ' +
    'timeoutMs,silenceMs:positive|?';
  checkOptions('endpointPlace()', options, fields);
  if (!/^https?:/.test(api))
    throw misconfigured(`endpointPlace() needs the whole address of the route, not "${api}".`);
  const name = api.replace(/\/$/, '');
  const pathOf = (sessionId: string): string => {
    checkId(sessionId, 'session id');
    return `${name}/${encodeURIComponent(sessionId)}`;
  };
  // An endpoint with KV says with an echo which state this place has seen.
  const echoes = new Map<string, string>();
  /** Rejects with the error of the endpoint. */
  const ask = async (url: string, init: RequestInit): Promise<Response> => {
    const echo = echoes.get(url);
    const ownHeaders = {
      'content-type': 'application/json',
      ...(echo !== undefined && { [echoHeader]: echo }),
    };
    const response = await requestEndpoint({
      ...options,
      url,
      init: { ...init, headers: ownHeaders },
    });
    if (!response.ok) throw await errorIn(response, url);
    const nextEcho = response.headers.get(echoHeader);
    if (nextEcho !== null) echoes.set(url, nextEcho);
    return response;
  };
  const put = async (sessionId: string, body: object): Promise<void> => {
    await ask(pathOf(sessionId), { method: 'PUT', body: JSON.stringify(body) });
  };
  return {
    name,
    async read(sessionId) {
      const response = await ask(pathOf(sessionId), { method: 'GET' });
      if (response.status === 204) return undefined;
      const copy = (await response.json()) as SessionCopy;
      return { ...copy, ownership: withOwnerName(copy.ownership, endpointHere, name) };
    },
    put: (copy) =>
      put(copy.sessionId, {
        ...copy,
        ownership: withOwnerName(copy.ownership, name, endpointHere),
      }),
    setOwner: (sessionId, change) => put(sessionId, withOwnerName(change, name, endpointHere)!),
    async stop(sessionId) {
      const body = JSON.stringify({ mode: 'abort' });
      await ask(`${pathOf(sessionId)}/interrupt`, { method: 'POST', body });
    },
  };
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
