import { AgentError } from '@isoloop/core';
import { privateReason } from './public-address.ts';

export interface PublicFetchOptions {
  /** Function that sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Allowed hosts, such as `example.com` or `*.example.com`. Default: all public hosts. */
  readonly hosts?: readonly string[];
  /** Whether `http:` URLs are allowed too. Default: false. */
  readonly http?: boolean;
  /**
   * Maximum number of redirects to follow. Each redirect is checked like the first URL. Default: 5.
   */
  readonly redirects?: number;
}

/** Names of headers that may identify the caller. Another origin must not get such a header. */
const credentialName =
  /auth|cookie|key|token|secret|pass|pwd|credential|session|signature|jwt|csrf|xsrf|bearer|cert|access/i;

/** Values that are credentials, whatever the header's name is. */
const credentialValue = /^(bearer|basic|digest|apikey) |^(sk|pk|gh[a-z]|glpat|xox[a-z])[-_]|^eyJ/i;

/**
 * Creates a `fetch` for URLs that come from a model or a user. Use it in tools, and as `fetch` of
 * `mcpTools()`. It sends requests only to public hosts on ports 80, 443, 8080 and 8443, and checks
 * each redirect too.
 *
 * Before it sends anything, it rejects with `INVALID_INPUT` for private, loopback, link-local and
 * metadata addresses in all spellings. It also rejects URLs with a user name. It does not detect a
 * public name that resolves to a private address. Cloudflare Workers cannot reach private networks
 * through such a name. On other platforms, block private addresses in the network.
 */
export function publicFetch(options: PublicFetchOptions = {}): typeof fetch {
  const { fetch: given, redirects = 5 } = options;
  return async (input: RequestInfo | URL, init?: RequestInit) => {
    let request = new Request(input as RequestInfo, { ...init, redirect: 'manual' });
    const mode = init?.redirect ?? (input instanceof Request ? input.redirect : 'follow');
    for (let hop = 0; ; hop++) {
      const url = checkAddress(request.url, options);
      // A body can be sent only once, so a copy is kept for a redirect.
      const again = request.body && mode === 'follow' ? request.clone() : request;
      const response = await (given ?? fetch)(request);
      const location = response.headers.get('location');
      if (
        response.status < 301 ||
        response.status > 308 ||
        response.status === 304 ||
        location === null ||
        mode === 'manual'
      ) {
        if (again !== request) drop(again.body);
        return response;
      }
      drop(response.body);
      if (mode === 'error' || hop >= redirects)
        throw refused(
          url,
          mode === 'error' ? 'redirects' : `redirects more than ${redirects} times`,
        );
      if (!URL.canParse(location, url)) throw refused(url, 'redirects to an invalid address');
      request = redirected(again, response.status, new URL(location, url));
    }
  };
}

function checkAddress(address: string, { hosts, http = false }: PublicFetchOptions): URL {
  const url = new URL(address);
  if (url.protocol !== 'https:' && !(http && url.protocol === 'http:'))
    throw refused(url, 'is not https');
  if (url.username || url.password) throw refused(url, 'contains a user name');
  if (
    url.port &&
    url.port !== '443' &&
    url.port !== '80' &&
    url.port !== '8443' &&
    url.port !== '8080'
  )
    throw refused(url, 'has an unusual port');
  const reason = privateReason(url.hostname);
  if (reason !== undefined) throw refused(url, `is not public: ${reason}`);
  if (hosts && !hosts.some((host) => isHost(url.hostname, host)))
    throw refused(url, 'has a host that is not on the list');
  return url;
}

function isHost(name: string, pattern: string): boolean {
  return pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern;
}

/** Creates the request for a redirect, with the same method and headers as a browser. */
function redirected(request: Request, status: number, url: URL): Request {
  const headers = new Headers(request.headers);
  if (new URL(request.url).origin !== url.origin)
    for (const [name, value] of request.headers)
      if (credentialName.test(name) || credentialValue.test(value)) headers.delete(name);
  const becomesGet =
    (status === 303 && !/^(GET|HEAD)$/.test(request.method)) ||
    (status < 303 && request.method === 'POST');
  if (!becomesGet) return new Request(url, new Request(request, { headers }));
  for (const name of ['content-type', 'content-length', 'content-encoding']) headers.delete(name);
  return new Request(url, { method: 'GET', headers, redirect: 'manual', signal: request.signal });
}

/** Ends a body without waiting: its source may never react. */
function drop(body: ReadableStream | null): void {
  body?.cancel().catch(() => undefined);
}

function refused({ protocol, host }: URL, problem: string): AgentError {
  return new AgentError('INVALID_INPUT', `The address ${protocol}//${host} ${problem}.`);
}
